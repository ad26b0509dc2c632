// P(y|x) = exp(log P(y, x) − log P(x)), row by row, with an exponential of our own for the case x <= 0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
constexpr std::size_t MOST_FEW = 16;
typedef std::uint64_t Words __attribute__((vector_size(32)));

// exp(x) = 2^m · exp(r) with m = round(x / ln 2) and |r| <= ln 2 / 2, the latter by its series up to r¹³/13!, its even and its
// odd terms apart. 2^m is applied in two halves, so that results below the normal range are rounded once, and −inf gives
// exactly 0. Several vectors go side by side: one would wait for its own steps.
template <int U> inline void exp4(Doubles* x) {
    const double magic = 0x1.8p52 + 2046;  // adding it rounds to an integer m and leaves m + 2 · 1023 in the low bits
    Doubles sum[U], m[U], r[U], square[U], even[U], odd[U];
    auto each = [](auto&& step) { for (int u = 0; u < U; ++u) step(u); };
    each([&](int u) { x[u] = x[u] < all4(-746.0) ? all4(-746.0) : x[u]; });
    each([&](int u) { sum[u] = x[u] * 0x1.71547652b82fep0 + magic; });
    each([&](int u) { m[u] = sum[u] - magic; });
    each([&](int u) { r[u] = (x[u] - m[u] * 0x1.62e42fefa0000p-1) - m[u] * 0x1.cf79abc9e3b3ap-40; });
    each([&](int u) { square[u] = r[u] * r[u]; });
    each([&](int u) { even[u] = all4(1.0 / 479001600.0); });
    each([&](int u) { odd[u] = all4(1.0 / 6227020800.0); });
    for (const double c : {1.0 / 3628800.0, 1.0 / 40320.0, 1.0 / 720.0, 1.0 / 24.0, 0.5})
        each([&](int u) { even[u] = even[u] * square[u] + c; });
    for (const double c : {1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0})
        each([&](int u) { odd[u] = odd[u] * square[u] + c; });
    each([&](int u) {
        const Words bits = reinterpret_cast<Words>(sum[u]), half = bits >> 1, other = bits - half;
        const Doubles p = (odd[u] * r[u] + even[u]) * square[u] + r[u] + 1.0;
        x[u] = p * reinterpret_cast<Doubles>(half << 52) * reinterpret_cast<Doubles>(other << 52);
    });
}

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
    parallel_for(blocks, threads, [&](std::size_t b) {
        const std::size_t begin = b * ROWS, at = begin * K;
        impossible[b] = normalise_block(log_joint + at, std::min(ROWS, n - begin), K, posterior + at,
                                        evidence ? evidence + begin : nullptr);
        if (impossible[b] != NONE) impossible[b] += static_cast<std::int64_t>(begin);
    });
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

}  // namespace posteriori
