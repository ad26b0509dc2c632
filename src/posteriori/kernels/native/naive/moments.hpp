// Moments (n, mean, M2, and the range where it is wanted) of parts of the rows, and how parts become the whole: by Chan's
// formula, in an order that the shape alone says.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "naive.hpp"
#include "threads.hpp"

namespace posteriori::moments {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// The moments of some rows, (K, d) each. The mean is kept with the part that a double cannot hold, so that the merges of
// many blocks lose nothing of it.
struct Running {
    std::vector<double> n, mean, rest, m2, low, high;
    Running(std::size_t size, bool ranged)
        : n(size, 0.0), mean(size, 0.0), rest(size, 0.0), m2(size, 0.0), low(ranged ? size : 0, INFINITE),
          high(ranged ? size : 0, -INFINITE) {}
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

// Moments that stand somewhere: where each part begins; low and high may be null.
struct At {
    const double *n, *mean, *rest, *m2, *low, *high;
};

inline void merge_row(Running& a, std::size_t at, std::size_t d, const At& b) {
    double *n = a.n.data() + at, *mean = a.mean.data() + at, *rest = a.rest.data() + at, *m2 = a.m2.data() + at;
    for (std::size_t j = 0; j < d; ++j) merge(n[j], mean[j], rest[j], m2[j], b.n[j], b.mean[j], b.rest[j], b.m2[j]);
    if (!b.low) return;
    double *low = a.low.data() + at, *high = a.high.data() + at;
    for (std::size_t j = 0; j < d; ++j) low[j] = std::min(low[j], b.low[j]);
    for (std::size_t j = 0; j < d; ++j) high[j] = std::max(high[j], b.high[j]);
}

// Whether cells of a block are missing or infinite.
template <typename T> int look(const T* x, std::ptrdiff_t row, std::size_t count, std::size_t d) {
    int seen = CLEAN;
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t j = 0; j < d; ++j) {
            const T value = x[static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(j)];
            seen |= std::isnan(value) ? SAW_NAN : std::isinf(value) ? SAW_INF : CLEAN;
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
    const bool ranged = out.low != nullptr;
    std::vector<Running> parts(chunks, Running(0, false));
    std::vector<int> seen(chunks, CLEAN);
    parallel_for(chunks, threads, [&](std::size_t c) {
        parts[c] = Running(size, ranged);
        const std::size_t begin = std::min(X.n, c * share), end = std::min(X.n, begin + share);
        seen[c] = add(begin, end, step, parts[c]);
    });
    Running& all = parts[0];
    int flags = seen[0];
    for (std::size_t c = 1; c < chunks; ++c) {
        const Running& part = parts[c];
        merge_row(all, 0, size,
                  At{part.n.data(), part.mean.data(), part.rest.data(), part.m2.data(), ranged ? part.low.data() : nullptr,
                     ranged ? part.high.data() : nullptr});
        flags |= seen[c];
    }
    for (std::size_t k = 0; k < size; ++k) out.mean[k] = all.mean[k] + all.rest[k];
    std::copy(all.n.begin(), all.n.end(), out.n);
    std::copy(all.m2.begin(), all.m2.end(), out.m2);
    if (!ranged) return flags;
    std::copy(all.low.begin(), all.low.end(), out.low);
    std::copy(all.high.begin(), all.high.end(), out.high);
    return flags;
}

}  // namespace posteriori::moments
