#include "coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

double dot(const SparseRows& rows, std::size_t i, const double* w) {
    double even = 0.0, odd = 0.0;
    std::int64_t k = rows.starts[i];
    const std::int64_t end = rows.starts[i + 1];
    for (; k + 2 <= end; k += 2) {
        even += rows.values[k] * w[rows.columns[k]];
        odd += rows.values[k + 1] * w[rows.columns[k + 1]];
    }
    if (k < end) even += rows.values[k] * w[rows.columns[k]];
    return even + odd;
}

void add(const SparseRows& rows, std::size_t i, double step, double* w) {
    for (std::int64_t k = rows.starts[i]; k < rows.starts[i + 1]; ++k) w[rows.columns[k]] += step * rows.values[k];
}

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

template <typename Rows> void row_dots(const Rows& rows, std::size_t n, double bias, const double* w, double* out, int threads) {
    constexpr std::size_t SOME = 512;
    parallel_for((n + SOME - 1) / SOME, threads, [&](std::size_t task) {
        for (std::size_t i = task * SOME; i < std::min(n, (task + 1) * SOME); ++i) out[i] = dot(rows, i, w) + bias * w[rows.d];
    });
}

template <typename Rows>
void row_sums(const Rows& rows, std::size_t n, double bias, const double* weight, const double* w, double* out, int threads) {
    constexpr std::size_t PARTS = 4;
    const std::size_t width = rows.d + 1, each = (n + PARTS - 1) / PARTS;
    std::vector<double> sums(PARTS * width);
    parallel_for(PARTS, threads, [&](std::size_t part) {
        double* sum = sums.data() + part * width;
        for (std::size_t i = part * each; i < std::min(n, (part + 1) * each); ++i) {
            if (weight[i] == 0.0) continue;
            const double step = w ? weight[i] * (dot(rows, i, w) + bias * w[rows.d]) : weight[i];
            add(rows, i, step, sum);
            sum[rows.d] += step * bias;
        }
    });
    for (std::size_t f = 0; f < width; ++f) {
        out[f] = 0.0;
        for (std::size_t part = 0; part < PARTS; ++part) out[f] += sums[part * width + f];
    }
}

#define POSTERIORI_FOR(Rows)                                                                                              \
    template void row_dots<Rows>(const Rows&, std::size_t, double, const double*, double*, int);                          \
    template void row_sums<Rows>(const Rows&, std::size_t, double, const double*, const double*, double*, int);
POSTERIORI_FOR(DenseRows)
POSTERIORI_FOR(SparseRows)

template Epoch descend<DenseRows>(const DenseRows&, const Descent&, Epoch, std::uint64_t);
template Epoch descend<SparseRows>(const SparseRows&, const Descent&, Epoch, std::uint64_t);

}  // namespace posteriori
