#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanes.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double HUGE_STEP = 1e60;
constexpr double FLAT = 1e-12;  // the least curvature: K_ii + K_jj − 2K_ij may be 0, or negative for a kernel that is none
constexpr double DIGITS = 65536.0;  // of v that single precision is sure of after some thousand steps

// As many kernel values as lanes of S
template <typename S, typename T> POSTERIORI_INLINE Vec<S> widen(const T* p) {
    if constexpr (sizeof(S) == sizeof(T)) {
        return load<T>(p);
    } else {
#ifdef __AVX2__
        return (Vec<S>)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
        return Vec<S>{static_cast<S>(p[0]), static_cast<S>(p[1])};
#endif
    }
}

struct Best {
    double value;
    std::size_t at;
};

// The largest of the lanes' bests; among equals the first.
template <typename T> POSTERIORI_INLINE Best best_lane(Vec<T> value, Vec<T> at) {
    Best best{static_cast<double>(value[0]), static_cast<std::size_t>(at[0])};
    for (std::size_t l = 1; l < WIDTH<T>; ++l)
        if (value[l] > best.value || (value[l] == best.value && at[l] < best.at))
            best = {static_cast<double>(value[l]), static_cast<std::size_t>(at[l])};
    return best;
}

template <typename T> POSTERIORI_INLINE Vec<T> first_places() {
    Vec<T> out;
    for (std::size_t l = 0; l < WIDTH<T>; ++l) out[l] = static_cast<T>(l);
    return out;
}

// The block's vectors in lanes of S, padded to whole registers by variables that may not move.
template <typename T, typename S> struct Block {
    static constexpr std::size_t W = WIDTH<S>;
    std::size_t padded;
    std::vector<S> v, up, down, diagonal;  // up, down: 0 where the variable may move that way, else −∞ and +∞

    Block(const T* K, std::size_t q, std::size_t stride, const double* v_)
        : padded((q + W - 1) / W * W), v(padded), up(padded, -std::numeric_limits<S>::infinity()),
          down(padded, std::numeric_limits<S>::infinity()), diagonal(padded, S(1)) {
        for (std::size_t i = 0; i < q; ++i) v[i] = static_cast<S>(v_[i]), diagonal[i] = static_cast<S>(K[i * stride + i]);
    }

    // i: the largest v of those that may go up
    Best first() const {
        Vec<S> value = spread<S>(-std::numeric_limits<S>::infinity()), at{}, here = first_places<S>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W))
            take_better(load(v.data() + k) + load(up.data() + k), here, value, at);
        return best_lane<S>(value, at);
    }

    // j: among those that may go down, the largest gain (v_i − v_j)² / (K_ii + K_jj − 2K_ij); and the largest v_i − v_j
    Best second(const T* row, S vi, S Kii, double& gap) const {
        Vec<S> value{}, at{}, here = first_places<S>(), widest = spread<S>(-std::numeric_limits<S>::infinity());
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W)) {
            const Vec<S> fall = vi - (load(v.data() + k) + load(down.data() + k)), real = larger<S>(fall, Vec<S>{});
            const Vec<S> bend = (Kii + load(diagonal.data() + k)) - S(2) * widen<S>(row + k);
            widest = larger<S>(widest, fall);
            take_better(real * real / larger<S>(bend, spread<S>(static_cast<S>(FLAT))), here, value, at);
        }
        gap = best_lane<S>(widest, at).value;
        return best_lane<S>(value, at);
    }

    // v follows the steps of a pair; and the next i, found on the way
    Best move(const T* row_i, S step_i, const T* row_j, S step_j) {
        Vec<S> value = spread<S>(-std::numeric_limits<S>::infinity()), at{}, here = first_places<S>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W)) {
            const Vec<S> now = load(v.data() + k) - step_i * widen<S>(row_i + k) - step_j * widen<S>(row_j + k);
            store<S>(v.data() + k, now);
            take_better(now + load(up.data() + k), here, value, at);
        }
        return best_lane<S>(value, at);
    }

    void allow(std::size_t i, double beta, double low, double high) {
        up[i] = beta < high ? S(0) : -std::numeric_limits<S>::infinity();
        down[i] = beta > low ? S(0) : std::numeric_limits<S>::infinity();
    }

    static POSTERIORI_INLINE void take_better(Vec<S> x, Vec<S> here, Vec<S>& value, Vec<S>& at) {
        const auto better = x > value;
        value = better ? x : value;
        at = better ? here : at;
    }
};

// Pairs moved with v in lanes of S; v itself follows at the end, in double precision.
template <typename T, typename S>
SmoEnd in_lanes(const T* K, std::size_t q, std::size_t stride, const double* low, const double* high, double* beta, double* v,
                double tol, std::size_t max_steps) {
    Block<T, S> block(K, q, stride, v);
    for (std::size_t i = 0; i < q; ++i) block.allow(i, beta[i], low[i], high[i]);
    const std::vector<double> before(beta, beta + q);
    SmoEnd end{0, -INF};
    Best i = block.first();
    while (i.value != -INF) {  // or until β runs away: a step of HUGE_STEP means that the problem has no end
        const T* row_i = K + i.at * stride;
        const Best j = block.second(row_i, static_cast<S>(i.value), block.diagonal[i.at], end.gap);
        if (end.gap <= tol || end.steps >= max_steps || j.value <= 0.0) break;
        const T* row_j = K + j.at * stride;
        const double bend = static_cast<double>(block.diagonal[i.at]) + block.diagonal[j.at] - 2.0 * row_i[j.at];
        const double wish = (i.value - block.v[j.at]) / std::max(bend, FLAT);
        const double room_i = high[i.at] - beta[i.at], room_j = beta[j.at] - low[j.at];
        const double t = std::min(wish, std::min(room_i, room_j));
        if (!(t < HUGE_STEP)) break;
        const double old_i = beta[i.at], old_j = beta[j.at];
        beta[i.at] = t >= room_i ? high[i.at] : old_i + t;  // a bound is reached exactly or not at all
        beta[j.at] = t >= room_j ? low[j.at] : old_j - t;
        if (beta[i.at] == old_i && beta[j.at] == old_j) break;  // the step is below the last place of β
        block.allow(i.at, beta[i.at], low[i.at], high[i.at]);
        block.allow(j.at, beta[j.at], low[j.at], high[j.at]);
        ++end.steps;
        i = block.move(row_i, static_cast<S>(beta[i.at] - old_i), row_j, static_cast<S>(beta[j.at] - old_j));
    }
    std::vector<long long> moved;
    std::vector<double> step;
    for (std::size_t k = 0; k < q; ++k)
        if (beta[k] != before[k]) moved.push_back(static_cast<long long>(k)), step.push_back(beta[k] - before[k]);
    subtract_rows(K, stride, moved.data(), step.data(), moved.size(), v, q, 1);
    return end;
}

}  // namespace

template <typename T>
SmoEnd smo_block(const T* K, std::size_t q, std::size_t stride, const double* low, const double* high, double* beta,
                 double* v, double tol, std::size_t max_steps) {
    if constexpr (sizeof(T) == 4) {
        double largest = 0.0;
        for (std::size_t i = 0; i < q; ++i) largest = std::max(largest, std::abs(v[i]));
        const SmoEnd end = largest <= tol * DIGITS ? in_lanes<T, float>(K, q, stride, low, high, beta, v, tol, max_steps) : SmoEnd{};
        if (end.steps > 0) return end;
    }
    return in_lanes<T, double>(K, q, stride, low, high, beta, v, tol, max_steps);
}

template <typename T>
void subtract_rows(const T* rows, std::size_t stride, const long long* slot, const double* step, std::size_t m, double* v,
                   std::size_t n, int threads) {
    constexpr std::size_t CHUNK = 2048, AT_ONCE = 4, W = WIDTH<double>;
    parallel_for((n + CHUNK - 1) / CHUNK, threads, [&](std::size_t c) {
        const std::size_t begin = c * CHUNK, end = std::min(n, begin + CHUNK);
        for (std::size_t r = 0; r < m; r += AT_ONCE) {
            const T* row[AT_ONCE];
            Vec<double> s[AT_ONCE];
            for (std::size_t a = 0; a < AT_ONCE; ++a) {
                const bool real = r + a < m;
                row[a] = rows + static_cast<std::size_t>(slot[real ? r + a : r]) * stride;
                s[a] = spread<double>(real ? step[r + a] : 0.0);
            }
            std::size_t j = begin;
            for (; j + W <= end; j += W) {
                Vec<double> x = load(v + j);
                for (std::size_t a = 0; a < AT_ONCE; ++a) x -= s[a] * widen<double>(row[a] + j);
                store<double>(v + j, x);
            }
            for (; j < end; ++j)
                for (std::size_t a = 0; a < AT_ONCE; ++a) v[j] -= s[a][0] * static_cast<double>(row[a][j]);
        }
    });
}

#define POSTERIORI_FOR(T)                                                                                                 \
    template SmoEnd smo_block<T>(const T*, std::size_t, std::size_t, const double*, const double*, double*, double*,      \
                                 double, std::size_t);                                                                    \
    template void subtract_rows<T>(const T*, std::size_t, const long long*, const double*, std::size_t, double*,          \
                                   std::size_t, int);
POSTERIORI_FOR(float)
POSTERIORI_FOR(double)

}  // namespace posteriori
