// Steps of all free variables at once, where pairs would zigzag.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "smo_lanes.hpp"

namespace posteriori::smo {

// Σ_k a_k b_k
POSTERIORI_INLINE double dot(const double* a, const double* b, std::size_t n) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> one{}, two{};
    std::size_t k = 0;
    for (; k + 2 * W <= n; k += 2 * W) one += load(a + k) * load(b + k), two += load(a + k + W) * load(b + k + W);
    one += two;
    double total = 0.0;
    for (std::size_t l = 0; l < W; ++l) total += one[l];
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

// All free variables F (low < β < high) at once: towards K_FF δ = v_F − b, Σδ = 0, as far as the first bound and the least of
// the objective along δ; then without those that are at a bound, until no bound is in the way. Pairs zigzag where many are free
// and C is large; here they need not. Whatever δ is, the objective only falls.
template <typename T, typename S> class Together {
    static constexpr std::size_t MOST = 400;  // free ones: beyond, the factor costs more than the pairs it saves
    const T* K;
    const std::size_t q, stride;
    const double *low, *high;
    std::vector<std::size_t> free;
    std::vector<double> L, x, ones, along, rest;  // L: column after column, each of `wide`; its diagonal inverted
    std::size_t wide = 0, spent = 0;              // `spent`: in pairs

    // L Lᵀ = K_FF and a ridge; false where K_FF is not definite
    bool factor() {
        constexpr std::size_t AT_ONCE = 4;  // columns
        wide = free.size();
        double trace = 0.0;
        for (std::size_t i : free) trace += static_cast<double>(K[i * stride + i]);
        const double ridge = trace / static_cast<double>(wide) * (sizeof(T) == 4 ? 1e-6 : 1e-11);
        L.resize(wide * wide);
        for (std::size_t j = 0; j < wide; ++j) {
            const T* row = K + free[j] * stride;
            double* __restrict to = L.data() + j * wide;
            for (std::size_t i = j; i < wide; ++i) to[i] = static_cast<double>(row[free[i]]);
            std::size_t k = 0;
            for (; k + AT_ONCE <= j; k += AT_ONCE) {
                const double *a = L.data() + k * wide, *b = a + wide, *c = b + wide, *d = c + wide;
                for (std::size_t i = j; i < wide; ++i) to[i] -= a[j] * a[i] + b[j] * b[i] + c[j] * c[i] + d[j] * d[i];
            }
            for (; k < j; ++k) {
                const double* a = L.data() + k * wide;
                for (std::size_t i = j; i < wide; ++i) to[i] -= a[j] * a[i];
            }
            if (!(to[j] + ridge > 0.0)) return false;
            const double inverse = 1.0 / std::sqrt(to[j] + ridge);
            to[j] = inverse;
            for (std::size_t i = j + 1; i < wide; ++i) to[i] *= inverse;
        }
        return true;
    }

    void solve(double* __restrict b) const {
        const std::size_t f = free.size();
        for (std::size_t j = 0; j < f; ++j) {
            const double* column = L.data() + j * wide;
            b[j] *= column[j];
            for (std::size_t i = j + 1; i < f; ++i) b[i] -= column[i] * b[j];
        }
        for (std::size_t j = f; j-- > 0;) {
            const double* column = L.data() + j * wide;
            b[j] = (b[j] - dot(column + j + 1, b + j + 1, f - j - 1)) * column[j];
        }
    }

    // The factor without variable k: its column goes into those behind it by rotations
    void remove(std::size_t k) {
        const std::size_t f = free.size();
        rest.assign(L.data() + k * wide, L.data() + k * wide + f);
        double* __restrict w = rest.data();
        for (std::size_t j = k + 1; j < f; ++j) {
            double* __restrict column = L.data() + j * wide;
            const double s = w[j] * column[j], c = std::sqrt(1.0 + s * s), by = 1.0 / c;
            column[j] *= by;
            for (std::size_t i = j + 1; i < f; ++i) {
                const double entry = (column[i] + s * w[i]) * by;
                column[i] = entry;
                w[i] = c * w[i] - s * entry;
            }
        }
        for (std::size_t j = 0; j < f; ++j) {
            if (j == k) continue;
            const double* from = L.data() + j * wide;
            if (j < k) std::copy(from + k + 1, from + f, L.data() + j * wide + k);
            else std::copy(from + j, from + f, L.data() + (j - 1) * wide + j - 1);
        }
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(k));
    }

    // Pairs that take as long; rows of a large matrix are no longer in the cache
    std::size_t price(std::size_t f) const { return (f * f + f * q / (q > 1000 ? 1 : 4) + 300) / (q + 60); }
    std::size_t price_of_factor(std::size_t f) const { return f * f * f / 20 / (q + 60); }

    enum class Ended { nowhere, at_a_bound, at_the_least };
    Ended move(Block<T, S>& block, double* beta) {
        const std::size_t f = free.size();
        x.resize(f), ones.assign(f, 1.0);
        for (std::size_t i = 0; i < f; ++i) x[i] = static_cast<double>(block.v[free[i]]);
        const std::vector<double> v = x;
        solve(x.data()), solve(ones.data());
        double sum = 0.0, unit = 0.0, slope = 0.0, bend = 0.0, left = 0.0;
        for (std::size_t i = 0; i < f; ++i) sum += x[i], unit += ones[i];
        for (std::size_t i = 0; i < f; ++i) left += x[i] -= sum / unit * ones[i];
        for (std::size_t i = 0; i < f; ++i) x[i] -= left / static_cast<double>(f), slope += x[i] * v[i];
        along.assign(block.padded, 0.0);
        for (std::size_t i = 0; i < f; ++i) {
            const T* row = K + free[i] * stride;
            const Vec<double> step = spread<double>(x[i]);
            for (std::size_t k = 0; k < block.padded; k += WIDTH<double>)
                store<double>(along.data() + k, load(along.data() + k) + step * widen<double>(row + k));
        }
        double room = INF;
        for (std::size_t i = 0; i < f; ++i) {
            const std::size_t at = free[i];
            bend += x[i] * along[at];
            if (x[i] != 0.0) room = std::min(room, (x[i] > 0.0 ? high[at] - beta[at] : low[at] - beta[at]) / x[i]);
        }
        const double wish = bend > 0.0 ? slope / bend : INF, t = std::min(wish, room);
        if (!(slope > 0.0) || !(t < HUGE_STEP)) return Ended::nowhere;
        for (std::size_t k = 0; k < q; ++k) block.v[k] -= static_cast<S>(t * along[k]);
        for (std::size_t i = f; i-- > 0;) {  // from the last on: a variable at a bound is taken out
            const std::size_t at = free[i];
            const double end = x[i] > 0.0 ? high[at] : low[at];
            const bool reached = x[i] != 0.0 && (end - beta[at]) / x[i] <= t;
            beta[at] = reached ? end : std::min(std::max(beta[at] + t * x[i], low[at]), high[at]);
            block.allow(at, beta[at], low[at], high[at]);
            if (!(beta[at] > low[at] && beta[at] < high[at])) remove(i);
        }
        return wish <= room ? Ended::at_the_least : Ended::at_a_bound;
    }

  public:
    Together(const T* K_, std::size_t q_, std::size_t stride_, const double* low_, const double* high_)
        : K(K_), q(q_), stride(stride_), low(low_), high(high_) {}

    // Pairs until the next time: as many as there are variables where the least was reached or it was not worth trying yet
    // (all moves cost about as much as the pairs at most), half as many again as before where it was of no use.
    std::size_t operator()(Block<T, S>& block, double* beta, std::size_t pairs, std::size_t patience) {
        free.clear();
        for (std::size_t i = 0; i < q; ++i)
            if (beta[i] > low[i] && beta[i] < high[i]) free.push_back(i);
        const std::size_t factors = price_of_factor(free.size());
        if (free.size() < 3 || free.size() > MOST || spent + factors + price(free.size()) > pairs) return q;
        spent += factors;
        Ended ended = factor() ? Ended::at_a_bound : Ended::nowhere;
        while (ended == Ended::at_a_bound && free.size() > 2 && spent < 2 * pairs) {
            spent += price(free.size());
            ended = move(block, beta);
        }
        return ended == Ended::at_the_least ? q : patience + patience / 2;
    }
};

}  // namespace posteriori::smo
