#include "smo.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "lanes.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

using V = Vec<double>;
constexpr std::size_t W = WIDTH<double>;
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double HUGE_STEP = 1e60;
constexpr double FLAT = 1e-12;  // the least curvature: K_ii + K_jj − 2K_ij may be 0, or negative for a kernel that is none

template <typename T> POSTERIORI_INLINE V widen(const T* p) {
    if constexpr (sizeof(T) == 8) {
        return load<double>(p);
    } else {
#ifdef __AVX2__
        return (V)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
        return V{static_cast<double>(p[0]), static_cast<double>(p[1])};
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

POSTERIORI_INLINE Vec<float> narrow(V low, V high) {
#ifdef __AVX2__
    return (Vec<float>)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
#else
    return Vec<float>{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
                      static_cast<float>(high[1])};
#endif
}

// The block's vectors, padded to whole registers by variables that may not move.
template <typename T> struct Block {
    std::size_t padded;
    std::vector<double> v, up, down;  // up, down: 0 where the variable may move that way, else −∞ and +∞
    std::vector<T> diagonal;

    Block(const T* K, std::size_t q, std::size_t stride, const double* v_)
        : padded((q + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>), v(padded), up(padded, -INF), down(padded, INF),
          diagonal(padded, T(1)) {
        std::copy_n(v_, q, v.begin());
        for (std::size_t i = 0; i < q; ++i) diagonal[i] = K[i * stride + i];
    }

    // i: the largest v of those that may go up
    Best first() const {
        V value = spread<double>(-INF), at{}, here = first_places<double>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<double>(W)) {
            const V x = load(v.data() + k) + load(up.data() + k);
            const auto better = x > value;
            value = better ? x : value;
            at = better ? here : at;
        }
        return best_lane<double>(value, at);
    }

    // j: among those that may go down, the largest gain (v_i − v_j)² / (K_ii + K_jj − 2K_ij); and the least v there
    Best second(const T* row, double vi, T Kii, double& least) const {
        Vec<T> value{}, at{}, here = first_places<T>();
        V low = spread<double>(INF);
        for (std::size_t k = 0; k < padded; k += WIDTH<T>, here += static_cast<T>(WIDTH<T>)) {
            Vec<T> gap;
            if constexpr (sizeof(T) == 8) {
                const V x = load(v.data() + k) + load(down.data() + k);
                low = x < low ? x : low;
                gap = vi - x;
            } else {
                const V x = load(v.data() + k) + load(down.data() + k), y = load(v.data() + k + W) + load(down.data() + k + W);
                low = x < low ? x : low;
                low = y < low ? y : low;
                gap = narrow(vi - x, vi - y);
            }
            const Vec<T> bend = (Kii + load<T>(diagonal.data() + k)) - T(2) * load<T>(row + k);
            const Vec<T> gain = gap * gap / larger<T>(bend, spread<T>(static_cast<T>(FLAT)));
            const auto better = (gap > T(0)) & (gain > value);
            value = better ? gain : value;
            at = better ? here : at;
        }
        least = INF;
        for (std::size_t l = 0; l < W; ++l) least = std::min(least, low[l]);
        return best_lane<T>(value, at);
    }

    // v follows the steps of a pair; and the next i, found on the way
    Best move(const T* row_i, double step_i, const T* row_j, double step_j) {
        V value = spread<double>(-INF), at{}, here = first_places<double>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<double>(W)) {
            const V now = load(v.data() + k) - step_i * widen(row_i + k) - step_j * widen(row_j + k);
            store<double>(v.data() + k, now);
            const V x = now + load(up.data() + k);
            const auto better = x > value;
            value = better ? x : value;
            at = better ? here : at;
        }
        return best_lane<double>(value, at);
    }

    void allow(std::size_t i, double beta, double low, double high) {
        up[i] = beta < high ? 0.0 : -INF;
        down[i] = beta > low ? 0.0 : INF;
    }
};

}  // namespace

template <typename T>
SmoEnd smo_block(const T* K, std::size_t q, std::size_t stride, const double* low, const double* high, double* beta,
                 double* v, double tol, std::size_t max_steps) {
    Block<T> block(K, q, stride, v);
    for (std::size_t i = 0; i < q; ++i) block.allow(i, beta[i], low[i], high[i]);
    SmoEnd end{0, -INF};
    Best i = block.first();
    while (i.value != -INF) {  // or until β runs away: a step of HUGE_STEP means that the problem has no end
        const T* row_i = K + i.at * stride;
        double least;
        const Best j = block.second(row_i, i.value, block.diagonal[i.at], least);
        end.gap = i.value - least;
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
        i = block.move(row_i, beta[i.at] - old_i, row_j, beta[j.at] - old_j);
    }
    std::copy_n(block.v.begin(), q, v);
    return end;
}

template <typename T>
void subtract_rows(const T* rows, std::size_t stride, const long long* slot, const double* step, std::size_t m, double* v,
                   std::size_t n, int threads) {
    constexpr std::size_t CHUNK = 2048, AT_ONCE = 4;
    parallel_for((n + CHUNK - 1) / CHUNK, threads, [&](std::size_t c) {
        const std::size_t begin = c * CHUNK, end = std::min(n, begin + CHUNK);
        for (std::size_t r = 0; r < m; r += AT_ONCE) {
            const T* row[AT_ONCE];
            V s[AT_ONCE];
            for (std::size_t a = 0; a < AT_ONCE; ++a) {
                const bool real = r + a < m;
                row[a] = rows + static_cast<std::size_t>(slot[real ? r + a : r]) * stride;
                s[a] = spread<double>(real ? step[r + a] : 0.0);
            }
            std::size_t j = begin;
            for (; j + W <= end; j += W) {
                V x = load(v + j);
                for (std::size_t a = 0; a < AT_ONCE; ++a) x -= s[a] * widen(row[a] + j);
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
