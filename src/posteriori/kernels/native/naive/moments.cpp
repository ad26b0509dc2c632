// (n, mean, M2, least, greatest) by class and column in one read of memory, block by block, which are merged by Chan's formula
// in a fixed order. Σ(x − m) and Σ(x − m)² are taken about a guess m, the mean of a few rows of the class, in pieces that the
// first cache holds, the next one being fetched meanwhile. That loses no digits while m lies within two standard deviations of
// the mean; a block where it does not, or that holds NaN, is gone over twice: sums as the rows come, then squares about them.
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
    mutable const char *ahead = nullptr, *until = nullptr;  // what will be read next

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
            const std::size_t at = j + v * step;
            std::memcpy(&m[v], to.mean + at, sizeof(Lanes));
            std::memcpy(&e[v], to.e + at, sizeof(Lanes));
            std::memcpy(&q[v], to.q + at, sizeof(Lanes));
            std::memcpy(&low[v], to.low + at, sizeof(Lanes));
            std::memcpy(&high[v], to.high + at, sizeof(Lanes));
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t r = order[i];
            const T* in = x + static_cast<std::ptrdiff_t>(r) * row + j;
            const double weigh = weight(r);
            if (ahead < until) {
                __builtin_prefetch(ahead);
                ahead += 64;
            }
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

    // All columns of some rows of one class, added to what is there.
    void squares(const std::uint32_t* order, std::size_t count, const Found& to) const {
        constexpr std::size_t V = 2, tile = 4 * V;
        std::size_t j = 0;
        for (; j + tile <= d; j += tile) squares<Doubles, V>(order, count, j, to);
        if (j + 4 <= d) {
            squares<Doubles, 1>(order, count, j, to);
            j += 4;
        }
        if (d - j == 3) squares<double, 3>(order, count, j, to);
        if (d - j == 2) squares<double, 2>(order, count, j, to);
        if (d - j == 1) squares<double, 1>(order, count, j, to);
    }

    // The mean of the first eight rows of `order` that weigh anything, or the first where they are fewer: exact where a column
    // is constant, since it adds by doubling. 0 where none weighs.
    void guess(const std::uint32_t* order, std::size_t rows, double* m) const {
        const T* first[8];
        std::size_t have = 0;
        for (std::size_t i = 0; i < rows && have < 8; ++i)
            if (weight(order[i]) > 0.0) first[have++] = x + static_cast<std::ptrdiff_t>(order[i]) * row;
        for (std::size_t j = 0; j < d; ++j) {
            const auto at = [&](std::size_t i) { return static_cast<double>(first[i][j]); };
            m[j] = have == 8  ? (((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(5)) + (at(6) + at(7)))) / 8
                   : have > 0 ? at(0)
                              : 0.0;
        }
    }

    double total(const std::uint32_t* order, std::size_t rows) const {
        if (!Weighted) return static_cast<double>(rows);
        double sum = 0.0;
        for (std::size_t i = 0; i < rows; ++i) sum += weight(order[i]);
        return sum;
    }

    static void read(const T* from, double& to) { to = *from; }
    static void read(const T* from, Doubles& to) { to = load4(from); }
};

struct Scratch {
    std::vector<double> n, s, e, q, low, high;
    std::vector<std::uint32_t> y, classes, order, ends, next;  // the rows by class: those of class k end at ends[k]
    Scratch(std::size_t K, std::size_t d, std::size_t rows)
        : n(K * d), s(K * d), e(K * d), q(K * d), low(K * d), high(K * d), y(rows), order(rows), ends(K, 0), next(K) {}

    Found found(std::size_t k, std::size_t d) {
        const std::size_t at = k * d;
        return {s.data() + at, e.data() + at, q.data() + at, low.data() + at, high.data() + at};
    }
    At at(std::size_t k, std::size_t d) const {
        const std::size_t at = k * d;
        return {n.data() + at, s.data() + at, e.data() + at, q.data() + at, low.data() + at, high.data() + at};
    }

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
            for (auto* v : {&n, &s, &e, &q}) std::fill_n(v->data() + k * d, d, 0.0);
        for (const auto k : classes) {
            std::fill_n(low.data() + k * d, d, INFINITE);
            std::fill_n(high.data() + k * d, d, -INFINITE);
        }
    }
};

// A block in one pass, whose cells may be followed by others up to `end`; false, and nothing added, where two are needed.
template <typename T, bool Weighted>
bool add_once(const Block<T, Weighted, false>& block, Scratch& scratch, Running& into, const char* end) {
    const std::size_t d = block.d, piece = std::max<std::size_t>(16, (std::size_t{1} << 15) / (d * sizeof(T)));
    scratch.clear(d);
    std::uint32_t begin = 0;
    for (const auto k : scratch.classes) {
        block.guess(scratch.order.data() + begin, scratch.ends[k] - begin, scratch.s.data() + k * d);
        scratch.next[k] = begin;
        begin = scratch.ends[k];
    }
    for (std::size_t first = 0; first < block.count; first += piece) {
        const std::size_t last = std::min(first + piece, block.count);
        if (end) {
            block.ahead = reinterpret_cast<const char*>(block.x + static_cast<std::ptrdiff_t>(last) * block.row);
            block.until = std::min(end, block.ahead + piece * d * sizeof(T));
        }
        for (const auto k : scratch.classes) {
            const std::uint32_t from = scratch.next[k];
            std::uint32_t to = from;
            while (to < scratch.ends[k] && scratch.order[to] < last) ++to;
            if (to > from) block.squares(scratch.order.data() + from, to - from, scratch.found(k, d));
            scratch.next[k] = to;
        }
    }
    block.ahead = block.until = nullptr;
    bool near = true;
    begin = 0;
    for (const auto k : scratch.classes) {
        const Found found = scratch.found(k, d);
        double* m = scratch.s.data() + k * d;
        const double n = block.total(scratch.order.data() + begin, scratch.ends[k] - begin);
        begin = scratch.ends[k];
        std::fill_n(scratch.n.data() + k * d, d, n);
        for (std::size_t j = 0; j < d; ++j) {
            const double e = found.e[j], off = n > 0.0 ? e / n : 0.0, m2 = found.q[j] - off * e;
            near &= (off * e <= 4.0 * m2) & (m2 < INFINITE);  // false where anything is NaN
            const double mean = m[j] + off, back = mean - m[j];
            found.e[j] = (m[j] - (mean - back)) + (off - back);
            found.q[j] = m2;
            m[j] = mean;
        }
    }
    if (near)
        for (const auto k : scratch.classes) merge_row(into, k * d, d, scratch.at(k, d));
    return near;
}

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
    std::size_t begin = 0;
    for (const auto k : scratch.classes) {
        const Found found = scratch.found(k, d);
        block.squares(scratch.order.data() + begin, scratch.ends[k] - begin, found);
        begin = scratch.ends[k];
        const double* n = scratch.n.data() + k * d;
        for (std::size_t j = 0; j < d; ++j) {
            const double off = n[j] > 0.0 ? found.e[j] / n[j] : 0.0;
            found.q[j] = std::max(found.q[j] - off * found.e[j], 0.0);
            found.e[j] = off;
        }
        merge_row(into, k * d, d, scratch.at(k, d));
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
    bool hopeful = true;  // no block so far wanted more than one pass
    const bool flat = !X.turn && X.row == static_cast<std::ptrdiff_t>(d);
    const char* stop = flat ? reinterpret_cast<const char*>(static_cast<const T*>(X.data) + end * d) : nullptr;
    for (std::size_t b = begin; b < end; b += step) {
        const std::size_t count = std::min(step, end - b);
        read_classes(y, b, count, K, scratch.y.data());
        scratch.sort(count);
        std::ptrdiff_t row;
        const T* x = X.rows(b, count, turned, &row);
        const double* weights = w ? w + b : nullptr;
        const Block<T, Weighted, false> block{x, row, count, d, scratch.y.data(), weights};
        hopeful = hopeful && add_once(block, scratch, into, stop);
        if (hopeful || add_block(block, scratch, into)) continue;
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
