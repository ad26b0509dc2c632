// (n, mean, M2, least, greatest) by class and column in one read of memory: each block of rows is gone over twice while it is
// in cache (sums as the rows come, then squares about the block's own means and the range, class by class in registers), and
// blocks are merged by Chan's formula in a fixed order.
#include "moments.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

using namespace moments;

// Where what is found of one class's rows goes, (d,) each.
struct Found {
    const double* mean;
    double *e, *q, *low, *high;
};

// One block of contiguous rows. Masked: NaN cells take no part and each column has its own n.
template <typename T, bool Weighted, bool Masked> struct Block {
    const T* x;
    std::ptrdiff_t row;
    std::size_t count, d;
    const std::uint32_t* y;
    const double* w;

    double weight(std::size_t r) const { return Weighted ? w[r] : 1.0; }

    void sums(double* __restrict s, double* __restrict n) const {
        for (std::size_t r = 0; r < count; ++r) {
            const T* __restrict in = x + static_cast<std::ptrdiff_t>(r) * row;
            double* __restrict to = s + y[r] * d;
            double* __restrict seen = n + y[r] * d;
            const double weigh = weight(r);
            if (!Masked) seen[0] += weigh;
            for (std::size_t j = 0; j < d; ++j) {
                const double value = in[j];
                if (Masked) {
                    const bool there = value == value;
                    to[j] += there ? weigh * value : 0.0;
                    seen[j] += there ? weigh : 0.0;
                } else {
                    to[j] += Weighted ? weigh * value : value;
                }
            }
        }
    }

    // Of the rows `order[0 … count)`, all of one class with block mean m, in `Lanes` columns from j on:
    // e = Σ w(x − m), which measures how far m is from the mean; q = Σ w(x − m)²; the least and the greatest x of weight > 0.
    template <typename Lanes, std::size_t V>
    void squares(const std::uint32_t* order, std::size_t count, std::size_t j, const Found& to) const {
        constexpr std::size_t step = sizeof(Lanes) / sizeof(double);
        Lanes m[V], e[V], q[V], low[V], high[V];
        for (std::size_t v = 0; v < V; ++v) {
            std::memcpy(&m[v], to.mean + j + v * step, sizeof(Lanes));
            e[v] = q[v] = Lanes{};
            low[v] = Lanes{} + INFINITE;
            high[v] = Lanes{} - INFINITE;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t r = order[i];
            const T* in = x + static_cast<std::ptrdiff_t>(r) * row + j;
            const double weigh = weight(r);
            Lanes value[V];
            for (std::size_t v = 0; v < V; ++v) {
                read(in + v * step, value[v]);
                Lanes gap = value[v] - m[v];
                if constexpr (Masked) gap = value[v] == value[v] ? gap : Lanes{};
                const Lanes part = Weighted ? weigh * gap : gap;
                e[v] += part;
                q[v] += part * gap;
            }
            if (Weighted && !(weigh > 0.0)) continue;  // a row of weight 0 is not in the range
            for (std::size_t v = 0; v < V; ++v) {  // NaN is neither less nor greater
                low[v] = value[v] < low[v] ? value[v] : low[v];
                high[v] = value[v] > high[v] ? value[v] : high[v];
            }
        }
        for (std::size_t v = 0; v < V; ++v) {
            const std::size_t at = j + v * step;
            std::memcpy(to.e + at, &e[v], sizeof(Lanes));
            std::memcpy(to.q + at, &q[v], sizeof(Lanes));
            std::memcpy(to.low + at, &low[v], sizeof(Lanes));
            std::memcpy(to.high + at, &high[v], sizeof(Lanes));
        }
    }

    // All columns of the rows of one class; the last vector may go over some columns again, to the same end.
    void squares(const std::uint32_t* order, std::size_t count, const Found& to) const {
        constexpr std::size_t V = 2, tile = 4 * V;
        std::size_t j = 0;
        if (d == 1) squares<double, 1>(order, count, 0, to);
        if (d == 2) squares<double, 2>(order, count, 0, to);
        if (d == 3) squares<double, 3>(order, count, 0, to);
        if (d < 4) return;
        for (; j + tile <= d; j += tile) squares<Doubles, V>(order, count, j, to);
        for (; j < d; j += 4) squares<Doubles, 1>(order, count, std::min(j, d - 4), to);
    }

    static void read(const T* from, double& to) { to = *from; }
    static void read(const T* from, Doubles& to) { to = load4(from); }
};

struct Scratch {
    std::vector<double> n, s, e, q, low, high;
    std::vector<std::uint32_t> y, classes, order, ends;  // the rows by class: those of class k end at ends[k]
    Scratch(std::size_t K, std::size_t d, std::size_t rows)
        : n(K * d), s(K * d), e(d), q(d), low(d), high(d), y(rows), order(rows), ends(K, 0) {}

    void sort(std::size_t count) {
        for (const auto k : classes) ends[k] = 0;
        classes.clear();
        for (std::size_t r = 0; r < count; ++r)
            if (!ends[y[r]]++) classes.push_back(y[r]);
        std::uint32_t begin = 0;
        for (const auto k : classes) {
            const std::uint32_t rows = ends[k];
            ends[k] = begin;
            begin += rows;
        }
        for (std::size_t r = 0; r < count; ++r) order[ends[y[r]]++] = static_cast<std::uint32_t>(r);
    }
    void clear(std::size_t d) {
        for (const auto k : classes)
            for (auto* v : {&n, &s}) std::fill_n(v->begin() + static_cast<std::ptrdiff_t>(k * d), d, 0.0);
    }
};

template <typename T, bool Weighted, bool Masked>
bool add_block(const Block<T, Weighted, Masked>& block, Scratch& scratch, Running& into) {
    const std::size_t d = block.d;
    scratch.clear(d);
    block.sums(scratch.s.data(), scratch.n.data());
    bool clean = true;
    for (const auto k : scratch.classes) {
        double *n = scratch.n.data() + k * d, *s = scratch.s.data() + k * d;
        if (!Masked) std::fill_n(n, d, n[0]);
        for (std::size_t j = 0; j < d; ++j) {
            clean = clean && std::isfinite(s[j]);  // before the division: a row of weight 0 may hold NaN too
            s[j] = n[j] > 0.0 ? s[j] / n[j] : 0.0;
        }
    }
    if (!clean && !Masked) return false;
    double *e = scratch.e.data(), *q = scratch.q.data(), *low = scratch.low.data(), *high = scratch.high.data();
    std::size_t begin = 0;
    for (const auto k : scratch.classes) {
        const double *n = scratch.n.data() + k * d, *s = scratch.s.data() + k * d;
        const Found found{s, e, q, low, high};
        block.squares(scratch.order.data() + begin, scratch.ends[k] - begin, found);
        begin = scratch.ends[k];
        for (std::size_t j = 0; j < d; ++j) {
            const double off = n[j] > 0.0 ? e[j] / n[j] : 0.0;
            q[j] = std::max(q[j] - off * e[j], 0.0);
            e[j] = off;
        }
        merge_row(into, k * d, d, At{n, s, e, q, low, high});
    }
    return true;
}

template <typename T, bool Weighted>
int add_rows(const Matrix<T>& X, const Column& y, std::size_t K, const double* w, std::size_t begin, std::size_t end,
             std::size_t step, Running& into) {
    const std::size_t d = X.d;
    Scratch scratch(K, d, step);
    std::vector<T> turned;
    int seen = CLEAN;
    for (std::size_t b = begin; b < end; b += step) {
        const std::size_t count = std::min(step, end - b);
        read_classes(y, b, count, K, scratch.y.data());
        scratch.sort(count);
        std::ptrdiff_t row;
        const T* x = X.rows(b, count, turned, &row);
        const double* weights = w ? w + b : nullptr;
        const Block<T, Weighted, false> block{x, row, count, d, scratch.y.data(), weights};
        if (add_block(block, scratch, into)) continue;
        seen |= look(x, row, count, d);
        add_block(Block<T, Weighted, true>{x, row, count, d, scratch.y.data(), weights}, scratch, into);
    }
    return seen;
}

}  // namespace

template <typename T>
int class_moments(const Matrix<T>& X, const Column& y, std::size_t K, const double* w, const MomentsOut& out, int threads) {
    return in_chunks(X, K, out, threads, [&](std::size_t begin, std::size_t end, std::size_t step, Running& into) {
        return w ? add_rows<T, true>(X, y, K, w, begin, end, step, into)
                 : add_rows<T, false>(X, y, K, w, begin, end, step, into);
    });
}

template int class_moments<double>(const Matrix<double>&, const Column&, std::size_t, const double*, const MomentsOut&, int);
template int class_moments<float>(const Matrix<float>&, const Column&, std::size_t, const double*, const MomentsOut&, int);

}  // namespace posteriori
