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

// exp(x) = 2^m · exp(r) with m = round(x / ln 2) and |r| <= ln 2 / 2, the latter by its series up to r¹³/13!. 2^m is
// applied in two halves, so that results below the normal range are rounded once, and −inf gives exactly 0.
inline Doubles exp4(Doubles x) {
    const double magic = 0x1.8p52;  // adding it rounds to an integer and leaves that in the low bits
    x = x < all4(-746.0) ? all4(-746.0) : x;
    const Doubles m = (x * 0x1.71547652b82fep0 + magic) - magic;
    const Doubles r = (x - m * 0x1.62e42fefa0000p-1) - m * 0x1.cf79abc9e3b3ap-40;
    Doubles p = all4(1.0 / 6227020800.0);
    for (const double c : {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                           1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5})
        p = p * r + c;
    p = (p * r) * r + r + 1.0;
    const Doubles half = (m * 0.5 + magic) - magic;
    auto power = [&](Doubles e) {
        const Longs bits = reinterpret_cast<Longs>(e + magic) - reinterpret_cast<Longs>(all4(magic));
        return reinterpret_cast<Doubles>((bits + 1023) << 52);
    };
    return p * power(half) * power(m - half);
}

constexpr std::size_t ROWS = 256;

// Rows divided by their shares, four numbers at a time.
template <typename Size> void divide(double* x, std::size_t n, Size K, const double* shares) {
    std::size_t r = 0;
    if (K < 4)
        for (; r + 4 <= n; r += 4)
            for (std::size_t i = 0; i < K; ++i) {
                Doubles share;
                for (std::size_t j = 0; j < 4; ++j) share[j] = shares[r + (4 * i + j) / K];
                double* four = x + r * K + 4 * i;
                store4(four, load4(four) / share);
            }
    for (; r < n; ++r)
        for (std::size_t k = 0; k < K; ++k) x[r * K + k] /= shares[r];
}

template <typename Size>  // of few classes the number is known when this is compiled
std::int64_t normalise_rows(const double* log_joint, std::size_t n, Size K, double* posterior, double* evidence) {
    const double never = -std::numeric_limits<double>::infinity();
    double tops[ROWS], shares[ROWS];
    for (std::size_t r = 0; r < n; ++r) {
        const double* in = log_joint + r * K;
        double top = never;
        for (std::size_t k = 0; k < K; ++k) top = in[k] > top ? in[k] : top;
        tops[r] = top;
        const double shift = std::isfinite(top) ? top : 0.0;
        for (std::size_t k = 0; k < K; ++k) posterior[r * K + k] = in[k] - shift;
    }
    exp_all(posterior, n * K);
    std::int64_t impossible = NONE;
    for (std::size_t r = 0; r < n; ++r) {
        double* row = posterior + r * K;
        double total = 0.0;
        for (std::size_t k = 0; k < K; ++k) total += row[k];
        shares[r] = total > 0.0 ? total : 1.0;
        if (evidence) evidence[r] = tops[r] == never ? never : tops[r] + std::log(total);
        if (tops[r] == never && impossible == NONE) impossible = static_cast<std::int64_t>(r);
    }
    divide(posterior, n, K, shares);
    return impossible;
}

}  // namespace

void exp_all(double* x, std::size_t n) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) store4(x + i, exp4(load4(x + i)));
    if (i == n) return;
    double rest[4] = {0.0, 0.0, 0.0, 0.0};
    std::copy(x + i, x + n, rest);
    store4(rest, exp4(load4(rest)));
    std::copy(rest, rest + (n - i), x + i);
}

std::int64_t normalise_block(const double* log_joint, std::size_t n, std::size_t K, double* posterior,
                             double* evidence) {
    switch (K) {
        case 2: return normalise_rows(log_joint, n, std::integral_constant<std::size_t, 2>(), posterior, evidence);
        case 3: return normalise_rows(log_joint, n, std::integral_constant<std::size_t, 3>(), posterior, evidence);
        case 4: return normalise_rows(log_joint, n, std::integral_constant<std::size_t, 4>(), posterior, evidence);
        default: return normalise_rows(log_joint, n, K, posterior, evidence);
    }
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
