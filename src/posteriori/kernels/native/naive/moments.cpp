// (n, mean, M2) by class and column in one read of memory: each block of rows is gone over twice while it is in cache
// (sums, then squares about the block's own means), and blocks are merged by Chan's formula in a fixed order.
#include <algorithm>
#include <cmath>

#include "naive.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

// The moments of some rows, (K, d) each. The mean is kept with the part that a double cannot hold, so that the merges of
// many blocks lose nothing of it.
struct Running {
    std::vector<double> n, mean, low, m2;
    explicit Running(std::size_t size) : n(size, 0.0), mean(size, 0.0), low(size, 0.0), m2(size, 0.0) {}
};

// Chan, Golub & LeVeque: with gap = mean_b − mean_a and share = n_b / n, the mean moves by gap·share and
// M2 = M2_a + M2_b + gap²·n_a·share.
inline void merge(double& n, double& mean, double& low, double& m2, double n_b, double mean_b, double low_b,
                  double m2_b) {
    const double total = n + n_b;
    const double share = total > 0.0 ? n_b / total : 0.0;
    const double gap = (mean_b - mean) + (low_b - low);
    m2 += m2_b + (gap * share) * gap * n;
    const double move = gap * share, moved = mean + move, back = moved - mean;
    low += n > 0.0 ? (mean - (moved - back)) + (move - back) : 0.0;
    mean = n > 0.0 ? moved : (n_b > 0.0 ? mean_b : mean);  // the first rows bring their mean as it is
    low = n > 0.0 ? low : (n_b > 0.0 ? low_b : low);
    n = total;
}

void merge_row(Running& a, std::size_t at, std::size_t d, const double* n, const double* mean, const double* low,
               const double* m2) {
    double *an = a.n.data() + at, *am = a.mean.data() + at, *al = a.low.data() + at, *a2 = a.m2.data() + at;
    for (std::size_t j = 0; j < d; ++j) merge(an[j], am[j], al[j], a2[j], n[j], mean[j], low[j], m2[j]);
}

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

    // e = Σ w(x − m) measures how far m is from the mean; q = Σ w(x − m)².
    void squares(const double* __restrict m, double* __restrict e, double* __restrict q) const {
        for (std::size_t r = 0; r < count; ++r) {
            const T* __restrict in = x + static_cast<std::ptrdiff_t>(r) * row;
            const double* __restrict mean = m + y[r] * d;
            double* __restrict error = e + y[r] * d;
            double* __restrict square = q + y[r] * d;
            const double weigh = weight(r);
            for (std::size_t j = 0; j < d; ++j) {
                double gap = static_cast<double>(in[j]) - mean[j];
                if (Masked) gap = gap == gap ? gap : 0.0;
                const double part = Weighted ? weigh * gap : gap;
                error[j] += part;
                square[j] += part * gap;
            }
        }
    }
};

struct Scratch {
    std::vector<double> n, s, e, q;
    std::vector<std::uint32_t> y, classes;
    std::vector<unsigned char> here;
    Scratch(std::size_t K, std::size_t d, std::size_t rows)
        : n(K * d), s(K * d), e(K * d), q(K * d), y(rows), here(K, 0) {}
    void clear(std::size_t d) {
        for (const auto k : classes)
            for (auto* v : {&n, &s, &e, &q}) std::fill_n(v->begin() + static_cast<std::ptrdiff_t>(k * d), d, 0.0);
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
    block.squares(scratch.s.data(), scratch.e.data(), scratch.q.data());
    for (const auto k : scratch.classes) {
        double *n = scratch.n.data() + k * d, *s = scratch.s.data() + k * d, *e = scratch.e.data() + k * d,
               *q = scratch.q.data() + k * d;
        for (std::size_t j = 0; j < d; ++j) {
            const double off = n[j] > 0.0 ? e[j] / n[j] : 0.0;
            q[j] = std::max(q[j] - off * e[j], 0.0);
            e[j] = off;
        }
        merge_row(into, k * d, d, n, s, e, q);
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
        for (const auto k : scratch.classes) scratch.here[k] = 0;
        scratch.clear(d);
        scratch.classes.clear();
        for (std::size_t r = 0; r < count; ++r) {
            const auto k = scratch.y[r];
            if (!scratch.here[k]) scratch.classes.push_back(k);
            scratch.here[k] = 1;
        }
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
int class_moments(const Matrix<T>& X, const Column& y, std::size_t K, const double* w, double* n, double* mean,
                  double* m2, int threads) {
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
        seen[c] = w ? add_rows<T, true>(X, y, K, w, begin, end, step, parts[c])
                    : add_rows<T, false>(X, y, K, w, begin, end, step, parts[c]);
    });
    Running& all = parts[0];
    int flags = seen[0];
    for (std::size_t c = 1; c < chunks; ++c) {
        const Running& part = parts[c];
        merge_row(all, 0, size, part.n.data(), part.mean.data(), part.low.data(), part.m2.data());
        flags |= seen[c];
    }
    for (std::size_t k = 0; k < size; ++k) mean[k] = all.mean[k] + all.low[k];
    std::copy(all.n.begin(), all.n.end(), n);
    std::copy(all.m2.begin(), all.m2.end(), m2);
    return flags;
}

template int class_moments<double>(const Matrix<double>&, const Column&, std::size_t, const double*, double*, double*,
                                   double*, int);
template int class_moments<float>(const Matrix<float>&, const Column&, std::size_t, const double*, double*, double*,
                                  double*, int);

}  // namespace posteriori
