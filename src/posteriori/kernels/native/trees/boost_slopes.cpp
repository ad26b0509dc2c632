// Derivatives of rows as whole numbers: finely rounded, or by chance in few steps.
#include <algorithm>
#include <cstring>

#include "boost.hpp"

namespace posteriori {

namespace {

int bits(std::size_t n) {
    int found = 0;
    for (; n > 0; n >>= 1) ++found;
    return found;
}

// Numbers that one instruction takes together, or two where they are too wide for it.
using Whole __attribute__((vector_size(32), may_alias)) = std::int32_t;
using Lanes __attribute__((vector_size(32), may_alias)) = std::uint32_t;
using Floats __attribute__((vector_size(32), may_alias)) = float;

// Numbers whose bits look as if drawn (Wellons' lowbias32).
template <typename Number> void mix(Number& x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
}

// g·2¹⁶ + h in whole numbers, each rounded up with the probability of its fraction, |g| and h below 1024.
void round_off(const Floats& g, const Floats& h, std::uint32_t seed, Lanes& words) {
    Lanes chance = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + seed;
    mix(chance);
    const Lanes low = chance & 0xfff, high = chance >> 20;  // (k + ½)/2¹², so that nothing is lost when 1024 is added
    const Floats up = __builtin_convertvector(reinterpret_cast<const Whole&>(low), Floats) * 0x1p-12f + 0x1p-13f;
    const Floats also = __builtin_convertvector(reinterpret_cast<const Whole&>(high), Floats) * 0x1p-12f + 0x1p-13f;
    const Whole G = __builtin_convertvector(g + up + 1024.0f, Whole) - 1024;  // ⌊g + up⌋, as the sum is above 0
    const Whole H = __builtin_convertvector(h + also, Whole);
    words = (reinterpret_cast<const Lanes&>(G) << 16) + reinterpret_cast<const Lanes&>(H);
}

// e^x of x ≤ 0, to six figures; as good as nothing from −87 on.
void exponentiate(Floats& x) {
    const Floats least = Floats{} - 87.0f, t = (x > least ? x : least) * 1.44269504f;
    const Whole whole = __builtin_convertvector(t - 0.5f, Whole), two = (whole + 127) << 23;
    const Floats f = (t - __builtin_convertvector(whole, Floats)) * 0.693147181f;
    const Floats part = 1.0f + f * (1.0f + f * (0.5f + f * (0.166666667f + f * (0.0416666667f + f * (0.00833333333f + f * 0.00138888889f)))));
    x = part * reinterpret_cast<const Floats&>(two);
}

}  // namespace

Slopes::Slopes(std::size_t n, int V, std::int32_t) : of(n * V), V(V), shift(62 - bits(n)) { bits_of_h = std::min(30, shift - bits(n)); }

void Slopes::bound(double g, double h) {
    per_g = 0x1p30 / g, unit_g = g / 0x1p30;
    const double most = static_cast<double>((std::int64_t{1} << bits_of_h) - 1);
    per_h = most / h, unit_h = h / most;
}

void Slopes::set(std::size_t r, int v, double g, double h) {
    const double x = g * per_g;
    of[r * V + v] = {static_cast<std::int32_t>(x + (x < 0 ? -0.5 : 0.5)), std::max(1, static_cast<std::int32_t>(h * per_h + 0.5))};
}

Words::Words(std::size_t n, int V, std::int32_t most) : V(V), words(units(V) * n), most(most) {}

void Words::bound(double g, double h) {
    const double steps = 32'000 / most - 1;  // one more may come of rounding
    per_g = steps / g, unit_g = g / steps, per_h = (2 * steps + 1) / h, unit_h = h / (2 * steps + 1);
}

void Words::set(std::size_t r, const double* g, const double* h, std::uint32_t seed) {
    seed += static_cast<std::uint32_t>(r);
    mix(seed);
    for (std::size_t u = 0; u < units(V); ++u) {
        Floats x{}, z{};
        for (std::size_t k = 0, v = u * 8; k < 8 && v < static_cast<std::size_t>(V); ++k, ++v)
            x[k] = static_cast<float>(g[v] * per_g), z[k] = static_cast<float>(h[v] * per_h);
        round_off(x, z, seed + static_cast<std::uint32_t>(u) * 8, *reinterpret_cast<Lanes*>(words[r * units(V) + u].of));
    }
    words[r * units(V) + V / 8].of[V % 8] = 1;
}

void Words::logistic(const std::int32_t* rows, std::size_t m, const float* F, const std::uint32_t* y, const double* weights,
                     std::uint32_t seed) {
    constexpr std::size_t SOME = 32;  // rows that take each step together, as none waits for another
    const std::size_t eights = units(V);
    std::vector<Row> space(SOME * eights);
    Floats* const p = reinterpret_cast<Floats*>(space.data());
    float most[SOME], whole[SOME];
    const Whole place{0, 1, 2, 3, 4, 5, 6, 7}, last = place < V % 8;  // the values among the last eight
    const auto load = [&](std::size_t i, std::size_t u, Floats& x) {
        std::memcpy(&x, F + static_cast<std::size_t>(rows[i]) * V + u * 8, sizeof x);
        if (u + 1 == eights) x = last ? x : Floats{} - 1e30f;
    };
    for (; m > 0; rows += std::min(m, SOME), m -= std::min(m, SOME)) {
        const std::size_t some = std::min(m, SOME);
        for (std::size_t i = 0; i < some; ++i) {
            Floats top, x;
            load(i, 0, top);
            for (std::size_t u = 1; u < eights; ++u) load(i, u, x), top = x > top ? x : top;
            most[i] = std::max(std::max(std::max(top[0], top[1]), std::max(top[2], top[3])),
                               std::max(std::max(top[4], top[5]), std::max(top[6], top[7])));
        }
        for (std::size_t i = 0; i < some; ++i) {
            Floats sum{}, x;
            for (std::size_t u = 0; u < eights; ++u) {
                load(i, u, x);
                x -= most[i];
                exponentiate(x);
                sum += p[i * eights + u] = x;
            }
            whole[i] = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
        }
        for (std::size_t i = 0; i < some; ++i) {
            const auto r = static_cast<std::size_t>(rows[i]);
            const double w = weights ? weights[r] : 1.0;
            const auto g = static_cast<float>(w * per_g), h = static_cast<float>(w * per_h);
            const float share = 1 / whole[i];
            std::uint32_t chance = seed + static_cast<std::uint32_t>(r);
            mix(chance);
            for (std::size_t u = 0; u < eights; ++u) {
                const auto k = static_cast<std::int32_t>(y[r]) - static_cast<std::int32_t>(u * 8);
                const Whole own = (place == k) & 0x3f800000;  // 1.0 at the row's class
                const Floats q = p[i * eights + u] * share;
                round_off((q - reinterpret_cast<const Floats&>(own)) * g, q * (1 - q) * h, chance + static_cast<std::uint32_t>(u) * 8,
                          *reinterpret_cast<Lanes*>(words[r * eights + u].of));
            }
            words[r * eights + V / 8].of[V % 8] = 1;
        }
    }
}

}  // namespace posteriori
