// Exponentials and logarithms of four numbers at a time.
#pragma once
#include "vec.hpp"

namespace posteriori {

typedef std::uint64_t Words __attribute__((vector_size(32)));

// exp(x) = 2^m · exp(r) with m = round(x / ln 2) and |r| <= ln 2 / 2, the latter by its series up to r¹³/13!, its even and its
// odd terms apart. 2^m is applied in two halves, so that results below the normal range are rounded once, and −inf gives
// exactly 0. Several vectors go side by side: one would wait for its own steps.
template <int U> __attribute__((always_inline)) inline void exp4(Doubles* x) {
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

// x = 2^e · (1 + f) with √½ <= 1 + f < √2 and ln(1 + f) = f − f²/2 + s·(f²/2 + R(s²)), s = f/(2 + f), R the rest of 2·artanh(s)
// by the polynomial nearest to it there: within one unit of the last place. For x in the normal range.
inline Doubles log4(Doubles x) {
    constexpr std::int64_t HALF = 0x3fe6a09e667f3bcd, ONE = 0x3ff0000000000000;  // √½ and 1
    const Longs bits = reinterpret_cast<Longs>(x) + (ONE - HALF);
    const Longs power = reinterpret_cast<Longs>(reinterpret_cast<Words>(bits) >> 52) | 0x4330000000000000;  // 2^52 + e + 1023
    const Doubles e = reinterpret_cast<Doubles>(power) - (0x1p52 + 1023.0);
    const Doubles f = reinterpret_cast<Doubles>((bits & 0x000fffffffffffff) + HALF) - 1.0;
    const Doubles s = f / (f + 2.0), z = s * s, w = z * z, half = f * f * 0.5;
    const Doubles odd = ((w * 0x1.2b5900de53b32p-3 + 0x1.7462b51cb66b1p-3) * w + 0x1.2492492df281ap-2) * w + 0x1.5555555555558p-1;
    const Doubles even = (w * 0x1.39fe51a7c18f9p-3 + 0x1.c71c62e3f11e6p-3) * w + 0x1.99999999952d7p-2;
    const Doubles rest = odd * z + even * w;
    return e * 0x1.62e42fee00000p-1 - ((half - (s * (half + rest) + e * 0x1.a39ef35793c76p-33)) - f);
}

}  // namespace posteriori
