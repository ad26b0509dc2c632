#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lanes.hpp"
#include "smo_together.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

using namespace smo;
constexpr double DIGITS = 65536.0;  // of v that single precision is sure of after some thousand steps

// Pairs moved with v in lanes of S; v itself follows at the end, in double precision.
template <typename T, typename S>
SmoEnd in_lanes(const T* K, std::size_t q, std::size_t stride, const double* low, const double* high, double* beta, double* v,
                double tol, std::size_t max_steps) {
    Block<T, S> block(K, q, stride, v);
    for (std::size_t i = 0; i < q; ++i) block.allow(i, beta[i], low[i], high[i]);
    const std::vector<double> before(beta, beta + q);
    Together<T, S> together(K, q, stride, low, high);
    SmoEnd end{0, -INF};
    std::size_t patience = q, next = patience;  // pairs between two moves together, and the step before which the next is
    Best i = block.first();
    while (i.value != -INF) {  // or until β runs away: a step of HUGE_STEP means that the problem has no end
        if (end.steps >= next) {
            patience = together(block, beta, end.steps, patience);
            next = end.steps + patience;
            i = block.first();
        }
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

namespace {

// max {v_i : β_i < high_i} and min {v_j : β_j > low_j}
std::pair<double, double> ends_of(std::size_t q, const double* low, const double* high, const double* beta, const double* v) {
    double top = -INF, bottom = INF;
    for (std::size_t i = 0; i < q; ++i) {
        top = beta[i] < high[i] ? std::max(top, v[i]) : top;
        bottom = beta[i] > low[i] ? std::min(bottom, v[i]) : bottom;
    }
    return {top, bottom};
}

// b: the mean of v over the free variables; where there are none, the middle of what the bounds allow
double intercept(std::size_t q, const double* low, const double* high, const double* beta, const double* v) {
    double sum = 0.0;
    std::size_t free = 0;
    for (std::size_t i = 0; i < q; ++i)
        if (beta[i] > low[i] && beta[i] < high[i]) sum += v[i], ++free;
    if (free) return sum / static_cast<double>(free);
    const auto [top, bottom] = ends_of(q, low, high, beta, v);
    if (std::isfinite(top) && std::isfinite(bottom)) return 0.5 * (top + bottom);
    return std::isfinite(top) ? top : std::isfinite(bottom) ? bottom : 0.0;
}

// K between `rows`, in rows of `stride`; 0 beyond column q. Rows that follow each other are copied together.
template <typename T>
void gather(const T* K, std::size_t wide, const std::int64_t* rows, std::size_t q, T* out, std::size_t stride) {
    for (std::size_t i = 0; i < q; ++i) {
        const T* from = K + static_cast<std::size_t>(rows[i]) * wide;
        T* to = out + i * stride;
        for (std::size_t j = 0, end; j < q; j = end) {
            for (end = j + 1; end < q && rows[end] == rows[end - 1] + 1;) ++end;
            std::copy(from + rows[j], from + rows[j] + (end - j), to + j);
        }
        std::fill(to + q, to + stride, T(0));
    }
}

}  // namespace

template <typename T>
void smo_machines(const T* K, std::size_t n, std::size_t wide, const Machines& m, double tol, std::size_t max_steps,
                  double* beta_, double* v_, MachineEnd* ends, int threads) {
    parallel_for(m.count, threads, [&](std::size_t k) {
        const auto begin = static_cast<std::size_t>(m.starts[k]), q = static_cast<std::size_t>(m.starts[k + 1]) - begin;
        const std::int64_t* rows = m.rows + begin;
        const double *p = m.p + begin, *low = m.low + begin, *high = m.high + begin;
        double *beta = beta_ + begin, *v = v_ + begin;
        const T* block = K;
        std::size_t stride = wide;
        std::vector<T> own;
        bool all = q == n;
        for (std::size_t i = 0; i < q && all; ++i) all = rows[i] == static_cast<std::int64_t>(i);
        if (!all) {
            stride = (q + ALIGNED - 1) / ALIGNED * ALIGNED;
            own.resize(q * stride);
            gather(K, wide, rows, q, own.data(), stride);
            block = own.data();
        }
        std::fill(beta, beta + q, 0.0), std::copy(p, p + q, v);
        MachineEnd end{0.0, 0.0, 0.0, 0.0, 0.0};
        for (std::size_t steps = 0;;) {
            const auto [top, bottom] = ends_of(q, low, high, beta, v);
            end.gap = std::isfinite(top) && std::isfinite(bottom) ? top - bottom : 0.0;
            if (!(end.gap > tol) || steps >= max_steps) break;
            const std::size_t more = smo_block(block, q, stride, low, high, beta, v, tol, max_steps - steps).steps;
            if (!more) break;
            steps += more, end.steps = static_cast<double>(steps);
        }
        double furthest = 0.0, largest = 0.0;
        for (std::size_t i = 0; i < q; ++i) {
            end.energy += beta[i] * (p[i] - v[i]);
            furthest = std::max(furthest, std::abs(beta[i]));
            largest = std::max(largest, std::abs(static_cast<double>(block[i * stride + i])));
        }
        end.drift = std::numeric_limits<double>::epsilon() * end.steps * furthest * largest;
        end.b = intercept(q, low, high, beta, v);
        ends[k] = end;
    });
}

#define POSTERIORI_FOR(T)                                                                                                 \
    template SmoEnd smo_block<T>(const T*, std::size_t, std::size_t, const double*, const double*, double*, double*,      \
                                 double, std::size_t);                                                                    \
    template void smo_machines<T>(const T*, std::size_t, std::size_t, const Machines&, double, std::size_t, double*, double*, \
                                  MachineEnd*, int);                                                                      \
    template void subtract_rows<T>(const T*, std::size_t, const long long*, const double*, std::size_t, double*,          \
                                   std::size_t, int);
POSTERIORI_FOR(float)
POSTERIORI_FOR(double)

}  // namespace posteriori
