// (n, mean, M2, least, greatest) by class and column in one read of memory: each block of rows is gone over twice while it is
// in cache (sums as the rows come, then squares about the block's own means and the range, class by class in registers), and
// blocks are merged by Chan's formula in a fixed order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// The moments of some rows, (K, d) each. The mean is kept with the part that a double cannot hold, so that the merges of
// many blocks lose nothing of it.
struct Running {
    std::vector<double> n, mean, rest, m2, low, high;
    explicit Running(std::size_t size)
        : n(size, 0.0), mean(size, 0.0), rest(size, 0.0), m2(size, 0.0), low(size, INFINITE), high(size, -INFINITE) {}
};

// Chan, Golub & LeVeque: with gap = mean_b − mean_a and share = n_b / n, the mean moves by gap·share and
// M2 = M2_a + M2_b + gap²·n_a·share.
inline void merge(double& n, double& mean, double& rest, double& m2, double n_b, double mean_b, double rest_b,
                  double m2_b) {
    const double total = n + n_b;
    const double share = total > 0.0 ? n_b / total : 0.0;
    const double gap = (mean_b - mean) + (rest_b - rest);
    m2 += m2_b + (gap * share) * gap * n;
    const double move = gap * share, moved = mean + move, back = moved - mean;
    rest += n > 0.0 ? (mean - (moved - back)) + (move - back) : 0.0;
    mean = n > 0.0 ? moved : (n_b > 0.0 ? mean_b : mean);  // the first rows bring their mean as it is
    rest = n > 0.0 ? rest : (n_b > 0.0 ? rest_b : rest);
    n = total;
}

// Moments that stand somewhere: where each part begins.
struct At {
    const double *n, *mean, *rest, *m2, *low, *high;
};

void merge_row(Running& a, std::size_t at, std::size_t d, const At& b) {
    double *n = a.n.data() + at, *mean = a.mean.data() + at, *rest = a.rest.data() + at, *m2 = a.m2.data() + at;
    double *low = a.low.data() + at, *high = a.high.data() + at;
    for (std::size_t j = 0; j < d; ++j) merge(n[j], mean[j], rest[j], m2[j], b.n[j], b.mean[j], b.rest[j], b.m2[j]);
    for (std::size_t j = 0; j < d; ++j) low[j] = std::min(low[j], b.low[j]);
    for (std::size_t j = 0; j < d; ++j) high[j] = std::max(high[j], b.high[j]);
}

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
    std::size_t apart = 1;  // from the weight of a row to that of the next

    double weight(std::size_t r) const { return Weighted ? w[r * apart] : 1.0; }

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
    template <typename Lanes, std::size_t V, bool Range>
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
            if (!Range || (Weighted && !(weigh > 0.0))) continue;  // a row of weight 0 is not in the range
            for (std::size_t v = 0; v < V; ++v) {  // NaN is neither less nor greater
                low[v] = value[v] < low[v] ? value[v] : low[v];
                high[v] = value[v] > high[v] ? value[v] : high[v];
            }
        }
        for (std::size_t v = 0; v < V; ++v) {
            const std::size_t at = j + v * step;
            std::memcpy(to.e + at, &e[v], sizeof(Lanes));
            std::memcpy(to.q + at, &q[v], sizeof(Lanes));
            if (!Range) continue;
            std::memcpy(to.low + at, &low[v], sizeof(Lanes));
            std::memcpy(to.high + at, &high[v], sizeof(Lanes));
        }
    }

    // All columns of the rows of one class; the last vector may go over some columns again, to the same end. Where the range
    // is known already it is left as it is.
    template <bool Range> void squares(const std::uint32_t* order, std::size_t count, const Found& to) const {
        constexpr std::size_t V = 2, tile = 4 * V;
        std::size_t j = 0;
        if (d == 1) squares<double, 1, Range>(order, count, 0, to);
        if (d == 2) squares<double, 2, Range>(order, count, 0, to);
        if (d == 3) squares<double, 3, Range>(order, count, 0, to);
        if (d < 4) return;
        for (; j + tile <= d; j += tile) squares<Doubles, V, Range>(order, count, j, to);
        for (; j < d; j += 4) squares<Doubles, 1, Range>(order, count, std::min(j, d - 4), to);
    }

    bool all_weigh() const {
        bool all = true;
        for (std::size_t r = 0; r < count; ++r) all &= weight(r) > 0.0;
        return all;
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
bool add_block(const Block<T, Weighted, Masked>& block, Scratch& scratch, Running& into, std::size_t first = 0,
               bool known_range = false) {
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
        if (known_range) block.template squares<false>(scratch.order.data() + begin, scratch.ends[k] - begin, found);
        else block.template squares<true>(scratch.order.data() + begin, scratch.ends[k] - begin, found);
        begin = scratch.ends[k];
        for (std::size_t j = 0; j < d; ++j) {
            const double off = n[j] > 0.0 ? e[j] / n[j] : 0.0;
            q[j] = std::max(q[j] - off * e[j], 0.0);
            e[j] = off;
        }
        merge_row(into, (first + k) * d, d, At{n, s, e, q, low, high});
    }
    return true;
}

template <typename T> int look(const T* x, std::ptrdiff_t row, std::size_t count, std::size_t d) {
    int seen = CLEAN;
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t j = 0; j < d; ++j) {
            const T value = x[static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(j)];
            seen |= std::isnan(value) ? SAW_NAN : std::isinf(value) ? SAW_INF : CLEAN;
        }
    return seen;
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

// Rows that belong to every class by shares (n, K): each block as above, class after class while it is in cache.
template <typename T>
int add_shares(const Matrix<T>& X, std::size_t K, const double* shares, std::size_t begin, std::size_t end, std::size_t step,
               Running& into) {
    Scratch scratch(1, X.d, step);
    std::vector<T> turned;
    int seen = CLEAN;
    for (std::size_t b = begin; b < end; b += step) {
        const std::size_t count = std::min(step, end - b);
        scratch.sort(count);  // all of one class
        std::ptrdiff_t row;
        const T* x = X.rows(b, count, turned, &row);
        bool clean = true, ranged = false;  // ranged: the scratch has the range of all rows, for a class with a share in all
        for (std::size_t k = 0; k < K; ++k) {
            const double* w = shares + b * K + k;
            const Block<T, true, false> block{x, row, count, X.d, scratch.y.data(), w, K};
            const bool all = block.all_weigh(), known = all && ranged;
            if (!clean || !add_block(block, scratch, into, k, known)) {
                if (clean) seen |= look(x, row, count, X.d);
                clean = false;  // what one class met, the others will meet
                add_block(Block<T, true, true>{x, row, count, X.d, scratch.y.data(), w, K}, scratch, into, k, known);
            }
            ranged = all;
        }
    }
    return seen;
}

// The moments of all rows, from `add(begin, end, rows at a time, into)`.
template <typename T, typename Add>
int in_chunks(const Matrix<T>& X, std::size_t K, const MomentsOut& out, int threads, const Add& add) {
    const std::size_t size = K * X.d;
    if (!X.n || !size) return CLEAN;
    const std::size_t step = std::clamp<std::size_t>((std::size_t{1} << 18) / (X.d * sizeof(T)), 32, 4096);
    // the chunks depend on the shape alone, never on the threads
    const std::size_t room = std::max<std::size_t>(1, (std::size_t{1} << 21) / size);
    const std::size_t blocks = (X.n + step - 1) / step, chunks = std::min({std::size_t{64}, room, blocks});
    const std::size_t share = (blocks + chunks - 1) / chunks * step;
    std::vector<Running> parts(chunks, Running(0));
    std::vector<int> seen(chunks, CLEAN);
    parallel_for(chunks, threads, [&](std::size_t c) {
        parts[c] = Running(size);
        const std::size_t begin = std::min(X.n, c * share), end = std::min(X.n, begin + share);
        seen[c] = add(begin, end, step, parts[c]);
    });
    Running& all = parts[0];
    int flags = seen[0];
    for (std::size_t c = 1; c < chunks; ++c) {
        const Running& part = parts[c];
        merge_row(all, 0, size,
                  At{part.n.data(), part.mean.data(), part.rest.data(), part.m2.data(), part.low.data(), part.high.data()});
        flags |= seen[c];
    }
    for (std::size_t k = 0; k < size; ++k) out.mean[k] = all.mean[k] + all.rest[k];
    std::copy(all.n.begin(), all.n.end(), out.n);
    std::copy(all.m2.begin(), all.m2.end(), out.m2);
    std::copy(all.low.begin(), all.low.end(), out.low);
    std::copy(all.high.begin(), all.high.end(), out.high);
    return flags;
}

}  // namespace

template <typename T>
int class_moments(const Matrix<T>& X, const Column& y, std::size_t K, const double* w, const MomentsOut& out, int threads) {
    return in_chunks(X, K, out, threads, [&](std::size_t begin, std::size_t end, std::size_t step, Running& into) {
        return w ? add_rows<T, true>(X, y, K, w, begin, end, step, into)
                 : add_rows<T, false>(X, y, K, w, begin, end, step, into);
    });
}

template <typename T>
int share_moments(const Matrix<T>& X, std::size_t K, const double* shares, const MomentsOut& out, int threads) {
    return in_chunks(X, K, out, threads, [&](std::size_t begin, std::size_t end, std::size_t step, Running& into) {
        return add_shares(X, K, shares, begin, end, step, into);
    });
}

template int class_moments<double>(const Matrix<double>&, const Column&, std::size_t, const double*, const MomentsOut&, int);
template int class_moments<float>(const Matrix<float>&, const Column&, std::size_t, const double*, const MomentsOut&, int);
template int share_moments<double>(const Matrix<double>&, std::size_t, const double*, const MomentsOut&, int);
template int share_moments<float>(const Matrix<float>&, std::size_t, const double*, const MomentsOut&, int);

}  // namespace posteriori
