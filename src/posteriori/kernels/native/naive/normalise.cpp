// P(y|x) = exp(log P(y, x) − log P(x)), row by row, with an exponential of our own for the case x <= 0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec_math.hpp"

namespace posteriori {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
constexpr std::size_t MOST_FEW = 16;
constexpr std::size_t ROWS = 256;      // most rows of a block
constexpr std::size_t NUMBERS = 2048;  // of a block, which stays in the first cache

inline Doubles greater(Doubles a, Doubles b) { return a > b ? a : b; }  // b where a is no number

// Few classes: a vector holds one class of four rows, so that greatest and sum need no step from lane to lane.
template <typename Size>
void few_classes(const double* in, std::size_t n, Size K, double* out, double* tops, double* totals) {
    double x[NUMBERS + 3 * MOST_FEW];
    const std::size_t fours = n / 4 * 4;
    auto turn = [&](const double* from, std::size_t r) {
        double* to = x + r * K;
        Doubles top = all4(NEVER);
        for (std::size_t k = 0; k < K; ++k) {
            const Doubles four{from[k], from[K + k], from[2 * K + k], from[3 * K + k]};
            top = greater(four, top);
            store4(to + 4 * k, four);
        }
        const Doubles shift = top - top == Doubles{} ? top : Doubles{};
        for (std::size_t k = 0; k < K; ++k) store4(to + 4 * k, load4(to + 4 * k) - shift);
        store4(tops + r, top);
    };
    auto back = [&](double* to, std::size_t r) {
        const double* from = x + r * K;
        Doubles total{};
        for (std::size_t k = 0; k < K; ++k) total += load4(from + 4 * k);
        const Doubles share = 1.0 / (total > Doubles{} ? total : all4(1.0));
        for (std::size_t k = 0; k < K; ++k) {
            const Doubles p = load4(from + 4 * k) * share;
            for (std::size_t i = 0; i < 4; ++i) to[i * K + k] = p[i];
        }
        store4(totals + r, total);
    };
    double rest[4 * MOST_FEW] = {};  // the last rows, fewer than four
    for (std::size_t r = 0; r < fours; r += 4) turn(in + r * K, r);
    if (fours < n) {
        std::copy(in + fours * K, in + n * K, rest);
        turn(rest, fours);
    }
    exp_all(x, (n + 3) / 4 * 4 * K);
    for (std::size_t r = 0; r < fours; r += 4) back(out + r * K, r);
    if (fours == n) return;
    back(rest, fours);
    std::copy(rest, rest + (n - fours) * K, out + fours * K);
}

// One row after the other, K >= 4. The last vector of the greatest may share some classes with the one before.
void more_classes(const double* in, std::size_t n, std::size_t K, double* out, double* tops, double* totals) {
    const std::size_t whole = K / 4 * 4;
    for (std::size_t r = 0; r < n; ++r) {
        const double* row = in + r * K;
        Doubles top = greater(load4(row + K - 4), all4(NEVER));
        for (std::size_t k = 0; k < whole; k += 4) top = greater(load4(row + k), top);
        tops[r] = std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
        const double shift = std::isfinite(tops[r]) ? tops[r] : 0.0;
        for (std::size_t k = 0; k < K; ++k) out[r * K + k] = row[k] - shift;
    }
    exp_all(out, n * K);
    for (std::size_t r = 0; r < n; ++r) {
        double* row = out + r * K;
        Doubles sums{};
        for (std::size_t k = 0; k < whole; k += 4) sums += load4(row + k);
        double total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (std::size_t k = whole; k < K; ++k) total += row[k];
        totals[r] = total;
        const double share = 1.0 / (total > 0.0 ? total : 1.0);
        for (std::size_t k = 0; k < K; ++k) row[k] *= share;
    }
}

void posteriors(const double* in, std::size_t n, std::size_t K, double* out, double* tops, double* totals) {
    switch (K) {  // of very few classes the number is known when this is compiled
        case 2: return few_classes(in, n, std::integral_constant<std::size_t, 2>(), out, tops, totals);
        case 3: return few_classes(in, n, std::integral_constant<std::size_t, 3>(), out, tops, totals);
        case 4: return few_classes(in, n, std::integral_constant<std::size_t, 4>(), out, tops, totals);
        default: return K < MOST_FEW ? few_classes(in, n, K, out, tops, totals) : more_classes(in, n, K, out, tops, totals);
    }
}

}  // namespace

void exp_all(double* x, std::size_t n) {
    constexpr std::size_t U = 3;
    auto some = [](double* at) {
        Doubles v[U];
        for (std::size_t u = 0; u < U; ++u) v[u] = load4(at + 4 * u);
        exp4<U>(v);
        for (std::size_t u = 0; u < U; ++u) store4(at + 4 * u, v[u]);
    };
    std::size_t i = 0;
    for (; i + 4 * U <= n; i += 4 * U) some(x + i);
    if (i == n) return;
    double rest[4 * U] = {};
    std::copy(x + i, x + n, rest);
    some(rest);
    std::copy(rest, rest + (n - i), x + i);
}

std::int64_t normalise_block(const double* log_joint, std::size_t n, std::size_t K, double* posterior,
                             double* evidence) {
    double tops[ROWS + 3], totals[ROWS + 3];
    std::int64_t impossible = NONE;
    const std::size_t rows = std::clamp<std::size_t>(NUMBERS / std::max<std::size_t>(K, 1), 1, ROWS);
    for (std::size_t begin = 0; begin < n; begin += rows) {
        const std::size_t count = std::min(rows, n - begin);
        posteriors(log_joint + begin * K, count, K, posterior + begin * K, tops, totals);
        for (std::size_t r = 0; r < count; ++r) {
            if (evidence) evidence[begin + r] = tops[r] == NEVER ? NEVER : tops[r] + std::log(totals[r]);
            if (tops[r] == NEVER && impossible == NONE) impossible = static_cast<std::int64_t>(begin + r);
        }
    }
    return impossible;
}

std::int64_t normalise(const double* log_joint, std::size_t n, std::size_t K, double* posterior, double* evidence,
                       int threads) {
    const std::size_t blocks = (n + ROWS - 1) / ROWS;
    std::vector<std::int64_t> impossible(blocks, NONE);
    parallel_runs(blocks, 16, threads, [&](std::size_t b) {
        const std::size_t begin = b * ROWS, at = begin * K;
        impossible[b] = normalise_block(log_joint + at, std::min(ROWS, n - begin), K, posterior + at,
                                        evidence ? evidence + begin : nullptr);
        if (impossible[b] != NONE) impossible[b] += static_cast<std::int64_t>(begin);
    });
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

double share_out(double* joint, std::size_t n, std::size_t K, const std::int32_t* known, const double* weights, bool hard,
                 int threads) {
    const std::size_t blocks = (n + ROWS - 1) / ROWS;
    std::vector<double> values(blocks, 0.0);
    parallel_for(blocks, threads, [&](std::size_t b) {
        const std::size_t begin = b * ROWS, count = std::min(ROWS, n - begin);
        double value[ROWS];
        bool any = false;  // hidden ones
        for (std::size_t r = 0; r < count; ++r) {
            const std::int32_t own = known[begin + r];
            if (own >= 0) value[r] = joint[(begin + r) * K + static_cast<std::size_t>(own)];
            else any = true;
        }
        if (any && !hard) {
            double evidence[ROWS];
            normalise_block(joint + begin * K, count, K, joint + begin * K, evidence);
            for (std::size_t r = 0; r < count; ++r) value[r] = known[begin + r] >= 0 ? value[r] : evidence[r];
        }
        for (std::size_t r = 0; r < count; ++r) {
            double* row = joint + (begin + r) * K;
            std::ptrdiff_t own = known[begin + r];
            if (own < 0 && hard) {
                own = std::max_element(row, row + K) - row;
                value[r] = row[own];
            }
            const double w = weights ? weights[begin + r] : 1.0;
            if (own >= 0) {
                std::fill(row, row + K, 0.0);
                row[own] = w;
            } else if (weights) {
                for (std::size_t k = 0; k < K; ++k) row[k] *= w;
            }
            if (w > 0.0) values[b] += w * value[r];
        }
    });
    double total = 0.0, lost = 0.0;  // block after block, with what the roundings lose
    for (const double x : values) {
        const double sum = total + x, back = sum - total;
        lost += (total - (sum - back)) + (x - back);
        total = sum;
    }
    return std::isfinite(lost) ? total + lost : total;
}

}  // namespace posteriori
