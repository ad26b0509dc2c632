#include "coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanes.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::size_t AHEAD = 4;  // rows asked for before they are needed: their order is random

double dot(const DenseRows& rows, std::size_t i, const double* w) {
    constexpr std::size_t W = WIDTH<double>;
    const double* x = rows.values + i * rows.d;
    Vec<double> sums[4] = {};
    std::size_t f = 0;
    for (; f + 4 * W <= rows.d; f += 4 * W)
        for (std::size_t s = 0; s < 4; ++s) sums[s] += load(x + f + s * W) * load(w + f + s * W);
    for (; f + W <= rows.d; f += W) sums[0] += load(x + f) * load(w + f);
    const Vec<double> total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double out = 0.0;
    for (std::size_t l = 0; l < W; ++l) out += total[l];
    for (; f < rows.d; ++f) out += x[f] * w[f];
    return out;
}

void add(const DenseRows& rows, std::size_t i, double step, double* w) {
    const double* x = rows.values + i * rows.d;
    for (std::size_t f = 0; f < rows.d; ++f) w[f] += step * x[f];
}

void fetch(const DenseRows& rows, std::size_t i) {
    const char* at = reinterpret_cast<const char*>(rows.values + i * rows.d);
    for (std::size_t b = 0; b < std::min<std::size_t>(rows.d * sizeof(double), 2048); b += 64) __builtin_prefetch(at + b);
}

POSTERIORI_INLINE double dot(const SparseRows& rows, std::size_t i, const double* w) {
    double sums[4] = {};
    std::int64_t k = rows.starts[i];
    const std::int64_t end = rows.starts[i + 1];
    for (; k + 4 <= end; k += 4)
        for (std::int64_t s = 0; s < 4; ++s) sums[s] += rows.values[k + s] * w[rows.columns[k + s]];
    for (; k < end; ++k) sums[0] += rows.values[k] * w[rows.columns[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

POSTERIORI_INLINE void add(const SparseRows& rows, std::size_t i, double step, double* w) {
    std::int64_t k = rows.starts[i];
    const std::int64_t end = rows.starts[i + 1];
    for (; k + 4 <= end; k += 4) {  // four loads, then four stores: a row names a column once
        double next[4];
        for (std::int64_t s = 0; s < 4; ++s) next[s] = w[rows.columns[k + s]] + step * rows.values[k + s];
        for (std::int64_t s = 0; s < 4; ++s) w[rows.columns[k + s]] = next[s];
    }
    for (; k < end; ++k) w[rows.columns[k]] += step * rows.values[k];
}

void add_squares(const DenseRows& rows, std::size_t i, double weight, double* out) {
    const double* x = rows.values + i * rows.d;
    for (std::size_t f = 0; f < rows.d; ++f) out[f] += weight * x[f] * x[f];
}

void add_squares(const SparseRows& rows, std::size_t i, double weight, double* out) {
    for (std::int64_t k = rows.starts[i]; k < rows.starts[i + 1]; ++k)
        out[rows.columns[k]] += weight * rows.values[k] * rows.values[k];
}

std::size_t cells(const DenseRows& rows, std::size_t n) { return n * rows.d; }
std::size_t cells(const SparseRows& rows, std::size_t n) { return static_cast<std::size_t>(rows.starts[n] - rows.starts[0]); }

void fetch(const SparseRows& rows, std::size_t i) {
    const std::int64_t begin = rows.starts[i], end = std::min(rows.starts[i + 1], begin + 256);
    for (std::int64_t k = begin; k < end; k += 8) __builtin_prefetch(rows.values + k);
    for (std::int64_t k = begin; k < end; k += 16) __builtin_prefetch(rows.columns + k);
}

// xorshift64*: a stream of its own for every call, from its seed
struct Random {
    std::uint64_t state;
    std::size_t below(std::size_t n) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<std::size_t>((static_cast<unsigned __int128>(state * 0x2545F4914F6CDD1DULL) * n) >> 64);
    }
};

// splitmix64: neighbouring seeds give streams that have nothing in common
std::uint64_t scattered(std::uint64_t seed) {
    seed += 0x9E3779B97F4A7C15ULL;
    seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EBULL;
    return (seed ^ (seed >> 31)) | 1;
}

}  // namespace

template <typename Rows> Epoch descend(const Rows& rows, const Descent& state, Epoch last, std::uint64_t seed) {
    Random random{scattered(seed)};
    for (std::size_t s = 0; s < last.active; ++s) std::swap(state.order[s], state.order[s + random.below(last.active - s)]);
    const double shrink_above = last.top > 0 ? last.top : INF, shrink_below = last.bottom < 0 ? last.bottom : -INF;
    double* w = state.w;
    Epoch now{last.active, -INF, INF};
    for (std::size_t s = 0; s < now.active; ++s) {
        if (s + AHEAD < now.active) fetch(rows, static_cast<std::size_t>(state.order[s + AHEAD]));
        const std::size_t i = static_cast<std::size_t>(state.order[s]);
        const double y = state.y[i], alpha = state.alpha[i];
        const double gradient = y * (dot(rows, i, w) + state.bias * w[rows.d]) - 1.0 + state.ridge[i] * alpha;
        double projected = gradient;
        if (alpha <= 0.0) {
            if (gradient > shrink_above) {
                std::swap(state.order[s--], state.order[--now.active]);
                continue;
            }
            projected = std::min(gradient, 0.0);
        } else if (alpha >= state.upper[i]) {
            if (gradient < shrink_below) {
                std::swap(state.order[s--], state.order[--now.active]);
                continue;
            }
            projected = std::max(gradient, 0.0);
        }
        now.top = std::max(now.top, projected);
        now.bottom = std::min(now.bottom, projected);
        if (std::abs(projected) > 1e-12) {
            const double next = std::min(std::max(alpha - gradient / state.curvature[i], 0.0), state.upper[i]);
            const double step = (next - alpha) * y;
            state.alpha[i] = next;
            add(rows, i, step, w);
            w[rows.d] += step * state.bias;
        }
    }
    return now;
}

template <typename Rows>
void free_move(const Rows& rows, const Descent& state, const std::int64_t* free, std::size_t m, std::size_t max_steps,
               double* move) {
    std::vector<double> rest(m), along(m), product(m), sum(rows.d + 1);
    const auto inner = [&](std::size_t i, const double* w) { return state.y[i] * (dot(rows, i, w) + state.bias * w[rows.d]); };
    double square = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
        const auto i = static_cast<std::size_t>(free[k]);
        rest[k] = 1.0 - state.ridge[i] * state.alpha[i] - inner(i, state.w);
        along[k] = rest[k] / state.curvature[i];
        square += rest[k] * along[k];
    }
    std::fill_n(move, m, 0.0);
    const double enough = 0.01 * square;
    for (std::size_t steps = 0; steps < max_steps && square > enough; ++steps) {
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t k = 0; k < m; ++k) {
            const auto i = static_cast<std::size_t>(free[k]);
            add(rows, i, state.y[i] * along[k], sum.data());
            sum[rows.d] += state.y[i] * along[k] * state.bias;
        }
        double bend = 0.0, after = 0.0;
        for (std::size_t k = 0; k < m; ++k) {
            const auto i = static_cast<std::size_t>(free[k]);
            product[k] = inner(i, sum.data()) + state.ridge[i] * along[k];
            bend += along[k] * product[k];
        }
        if (!(bend > 0.0)) break;  // rows that outnumber the columns have a Q without an inverse
        const double step = square / bend;
        for (std::size_t k = 0; k < m; ++k) {
            move[k] += step * along[k];
            rest[k] -= step * product[k];
            after += rest[k] * rest[k] / state.curvature[free[k]];
        }
        for (std::size_t k = 0; k < m; ++k) along[k] = rest[k] / state.curvature[free[k]] + after / square * along[k];
        square = after;
    }
}

template <typename Rows> void row_dots(const Rows& rows, std::size_t n, double bias, const double* w, double* out, int threads) {
    constexpr std::size_t SOME = 512;
    parallel_for((n + SOME - 1) / SOME, threads, [&](std::size_t task) {
        for (std::size_t i = task * SOME; i < std::min(n, (task + 1) * SOME); ++i) out[i] = dot(rows, i, w) + bias * w[rows.d];
    });
}

namespace {

// out = Σ_i of what `put(i, sum)` adds to a sum. A large sum is one of PARTS sums, whatever the number of threads.
template <typename Rows, typename Put> void total(const Rows& rows, std::size_t n, double* out, int threads, Put put) {
    constexpr std::size_t LARGE = 1000000, PARTS = 4;
    const std::size_t width = rows.d + 1, parts = cells(rows, n) < LARGE ? 1 : PARTS;
    const std::size_t each = (n + parts - 1) / parts;
    std::vector<double> sums((parts - 1) * width);
    parallel_for(parts, threads, [&](std::size_t part) {
        double* sum = part ? sums.data() + (part - 1) * width : out;
        std::fill_n(sum, width, 0.0);
        for (std::size_t i = part * each; i < std::min(n, (part + 1) * each); ++i) put(i, sum);
    });
    for (std::size_t part = 1; part < parts; ++part)
        for (std::size_t f = 0; f < width; ++f) out[f] += sums[(part - 1) * width + f];
}

}  // namespace

template <typename Rows>
void row_sums(const Rows& rows, std::size_t n, double bias, const double* weight, const double* w, double* out, int threads) {
    total(rows, n, out, threads, [&](std::size_t i, double* sum) {
        if (weight[i] == 0.0) return;
        const double step = w ? weight[i] * (dot(rows, i, w) + bias * w[rows.d]) : weight[i];
        add(rows, i, step, sum);
        sum[rows.d] += step * bias;
    });
}

template <typename Rows>
void row_squares(const Rows& rows, std::size_t n, double bias, const double* weight, double* out, int threads) {
    total(rows, n, out, threads, [&](std::size_t i, double* sum) {
        if (weight[i] == 0.0) return;
        add_squares(rows, i, weight[i], sum);
        sum[rows.d] += weight[i] * bias * bias;
    });
}

template <typename Rows>
std::size_t conjugate(const Rows& rows, std::size_t n, double bias, const double* weight, const double* scale,
                      const Conjugate& state, double enough, std::size_t max_steps, int threads) {
    if constexpr (std::is_same_v<Rows, SparseRows>) {  // the rows that count, side by side, where most do not
        const std::size_t used = n - static_cast<std::size_t>(std::count(weight, weight + n, 0.0));
        if (3 * used < n) {
            std::vector<std::int64_t> starts{0};
            std::vector<std::int32_t> columns;
            std::vector<double> values, weights;
            const std::size_t room = cells(rows, n) / n * used;
            starts.reserve(used + 1), weights.reserve(used), columns.reserve(room), values.reserve(room);
            for (std::size_t i = 0; i < n; ++i) {
                if (weight[i] == 0.0) continue;
                columns.insert(columns.end(), rows.columns + rows.starts[i], rows.columns + rows.starts[i + 1]);
                values.insert(values.end(), rows.values + rows.starts[i], rows.values + rows.starts[i + 1]);
                starts.push_back(static_cast<std::int64_t>(columns.size()));
                weights.push_back(weight[i]);
            }
            const SparseRows here{starts.data(), columns.data(), values.data(), rows.d};
            return conjugate(here, used, bias, weights.data(), scale, state, enough, max_steps, threads);
        }
    }
    const std::size_t width = rows.d + 1;
    std::vector<double> product(width);
    double square = 0.0;
    for (std::size_t f = 0; f < width; ++f) square += scale[f] * state.rest[f] * state.rest[f];
    std::size_t steps = 0;
    for (; steps < max_steps && square > enough; ++steps) {
        row_sums(rows, n, bias, weight, state.along, product.data(), threads);
        double bend = 0.0, after = 0.0;
        for (std::size_t f = 0; f < width; ++f) bend += state.along[f] * (product[f] += state.along[f]);
        const double step = square / bend;
        for (std::size_t f = 0; f < width; ++f) {
            state.out[f] += step * state.along[f];
            state.rest[f] -= step * product[f];
            after += scale[f] * state.rest[f] * state.rest[f];
        }
        for (std::size_t f = 0; f < width; ++f) state.along[f] = scale[f] * state.rest[f] + after / square * state.along[f];
        square = after;
    }
    return steps;
}

bool within(const std::int32_t* places, std::size_t n, std::size_t d) {
    const auto last = static_cast<std::int32_t>(std::min<std::size_t>(d, std::numeric_limits<std::int32_t>::max())) - 1;
    std::int32_t signs = 0;  // negative once a place, or what it leaves to the last, is
    for (std::size_t k = 0; k < n; ++k) signs |= places[k] | (last - places[k]);
    return signs >= 0;
}

HingeLine squared_hinge(const double* margin, const double* slope, const double* C, std::size_t n, double t) {
    using V = Vec<double>;
    constexpr std::size_t W = WIDTH<double>;
    V value{}, first{}, second{};
    const auto take = [&](V m, V s, V c) {
        const V slack = larger<double>(1.0 - m - t * s, V{}), inside = slack > 0.0 ? c * s : V{};
        value += c * slack * slack;
        first += slack * inside;
        second += s * inside;
    };
    std::size_t i = 0;
    for (; i + W <= n; i += W) take(load(margin + i), load(slope + i), load(C + i));
    for (; i < n; ++i) {
        V m{}, s{}, c{};
        m[0] = margin[i], s[0] = slope[i], c[0] = C[i];
        take(m, s, c);
    }
    HingeLine out{};
    for (std::size_t l = 0; l < W; ++l) out.value += value[l], out.first += first[l], out.second += second[l];
    return out;
}

#define POSTERIORI_FOR(Rows)                                                                                              \
    template Epoch descend<Rows>(const Rows&, const Descent&, Epoch, std::uint64_t);                                      \
    template void free_move<Rows>(const Rows&, const Descent&, const std::int64_t*, std::size_t, std::size_t, double*);   \
    template void row_dots<Rows>(const Rows&, std::size_t, double, const double*, double*, int);                          \
    template void row_sums<Rows>(const Rows&, std::size_t, double, const double*, const double*, double*, int);           \
    template void row_squares<Rows>(const Rows&, std::size_t, double, const double*, double*, int);                       \
    template std::size_t conjugate<Rows>(const Rows&, std::size_t, double, const double*, const double*, const Conjugate&, \
                                         double, std::size_t, int);
POSTERIORI_FOR(DenseRows)
POSTERIORI_FOR(SparseRows)

}  // namespace posteriori
