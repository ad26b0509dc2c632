// Where the classes of a histogram part, by the MDL principle of Fayyad and Irani.
//
// N·Ent(S) = N log2 N − Σ_y N_y log2 N_y. From one boundary to the next a cell goes from the right side to the left one, and
// only the terms of the classes that it holds change; where the best cut is, its price is taken afresh.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <limits>

#include "densities.hpp"

namespace posteriori {
namespace {

double times_log2(double x) { return x > 0.0 ? x * std::log2(x) : 0.0; }

template <std::size_t SIZE> const double* known_logs() {
    static const std::vector<double> known = [] {
        std::vector<double> made(SIZE);
        for (std::size_t i = 0; i < SIZE; ++i) made[i] = times_log2(static_cast<double>(i));
        return made;
    }();
    return known.data();
}

// x log2 x of the whole numbers up to `most`, or nothing where those are too many.
const double* logs_up_to(double most) {
    constexpr std::size_t FEW = 1 << 12, MANY = 1 << 17;
    return most < FEW ? known_logs<FEW>() : most < MANY ? known_logs<MANY>() : nullptr;
}

constexpr double EQUAL = 1e-9;  // bits that differ by so little, or such a share, are the same: weights have last digits

struct Splitter {
    const Sparser& N;
    std::size_t K;
    std::vector<double> left, right, cost;
    const double* logs = nullptr;  // where all counts are whole numbers, as they mostly are
    std::vector<std::uint32_t> whole, here, rest;

    Splitter(const Sparser& counts, std::size_t classes) : N(counts), K(classes), left(K), right(K), here(K), rest(K) {
        double total = 0.0;
        bool is_whole = true;
        for (const double n : N.n) total += n;
        if (const double* known = logs_up_to(total)) {
            for (const double n : N.n) is_whole &= static_cast<double>(static_cast<std::int32_t>(n)) == n;
            if (is_whole) logs = known, whole.assign(N.n.begin(), N.n.end());
        }
    }

    static double bits(const std::vector<double>& n) {
        double total = 0.0, sum = 0.0;
        for (const double one : n) total += one, sum += times_log2(one);
        return std::max(times_log2(total) - sum, 0.0);
    }

    // Before which cell of a … b − 1 to cut, or a where no cut pays.
    std::size_t best(std::size_t a, std::size_t b) {
        if (b - a < 2) return a;
        sides(a, a, b);
        double n = 0.0;
        for (const double one : right) n += one;
        if (n <= 1.0) return a;
        const double uncut = bits(right);
        cost.resize(b - a);
        const double least = logs ? costs_of_whole(a, b) : costs(a, b, n);
        std::size_t at = a;
        while (!(cost[at - a] <= least + EQUAL * std::max(1.0, uncut))) ++at;  // the lowest of equals
        ++at;
        sides(a, at, b);
        return pays(n, uncut) ? at : a;
    }

    // What it costs to cut behind each of the cells a … b − 2, and the least of that; `right` is what they hold.
    double costs(std::size_t a, std::size_t b, double rest) {
        double here = 0.0, of_left = 0.0, of_right = 0.0, least = std::numeric_limits<double>::infinity();
        for (const double one : right) of_right += times_log2(one);
        for (std::size_t v = a; v + 1 < b; ++v) {
            for (std::size_t e = N.first[v]; e < N.first[v + 1]; ++e) {
                double &l = left[N.y[e]], &r = right[N.y[e]];
                of_left -= times_log2(l), of_right -= times_log2(r);
                l += N.n[e], r = std::max(r - N.n[e], 0.0);
                of_left += times_log2(l), of_right += times_log2(r);
                here += N.n[e], rest -= N.n[e];
            }
            cost[v - a] = std::max(times_log2(here) - of_left, 0.0) + std::max(times_log2(rest) - of_right, 0.0);
            least = std::min(least, cost[v - a]);
        }
        return least;
    }

    // The same of whole numbers, whose logarithms are known.
    double costs_of_whole(std::size_t a, std::size_t b) {
        double gone = 0.0, of_right = 0.0, least = std::numeric_limits<double>::infinity();
        std::uint32_t on_left = 0, on_right = 0;
        for (std::size_t k = 0; k < K; ++k) {
            here[k] = 0, rest[k] = static_cast<std::uint32_t>(right[k]);
            on_right += rest[k], of_right += logs[rest[k]];
        }
        for (std::size_t v = a; v + 1 < b; ++v) {
            for (std::size_t e = N.first[v]; e < N.first[v + 1]; ++e) {
                const std::uint32_t y = N.y[e], n = whole[e], l = here[y], r = rest[y];
                gone += (logs[l + n] - logs[l]) - (logs[r] - logs[r - n]);  // Σ over the classes of both sides
                here[y] = l + n, rest[y] = r - n;
                on_left += n, on_right -= n;
            }
            cost[v - a] = logs[on_left] + logs[on_right] - (of_right + gone);
            least = std::min(least, cost[v - a]);
        }
        return least;
    }

    // The counts of cells a … at − 1 and of at … b − 1.
    void sides(std::size_t a, std::size_t at, std::size_t b) {
        std::fill(left.begin(), left.end(), 0.0), std::fill(right.begin(), right.end(), 0.0);
        for (std::size_t e = N.first[a]; e < N.first[at]; ++e) left[N.y[e]] += N.n[e];
        for (std::size_t e = N.first[at]; e < N.first[b]; ++e) right[N.y[e]] += N.n[e];
    }

    // N·Gain > log2(N − 1) + log2(3^k − 2) − k·Ent(S) + k1·Ent(S1) + k2·Ent(S2).
    bool pays(double n, double uncut) const {
        double k = 0.0, k1 = 0.0, k2 = 0.0, n1 = 0.0, n2 = 0.0;
        for (std::size_t c = 0; c < K; ++c) {
            k += left[c] > 0.0 || right[c] > 0.0, k1 += left[c] > 0.0, k2 += right[c] > 0.0;
            n1 += left[c], n2 += right[c];
        }
        const double cut1 = bits(left), cut2 = bits(right);
        double price = std::log2(n - 1.0) + (k < 600 ? std::log2(std::pow(3.0, k) - 2.0) : k * std::log2(3.0));
        price -= k * uncut / n - k1 * cut1 / n1 - k2 * cut2 / n2;
        return uncut - cut1 - cut2 > price + EQUAL * std::max(1.0, uncut);
    }
};

}  // namespace

Sparser without_zeros(const double* table, std::size_t V, std::size_t K) {
    Sparser out;
    out.first.reserve(V + 1);
    out.first.push_back(0);
    for (std::size_t v = 0; v < V; ++v) {
        for (std::size_t k = 0; k < K; ++k)
            if (table[v * K + k] > 0.0) {
                out.y.push_back(static_cast<std::uint32_t>(k));
                out.n.push_back(table[v * K + k]);
            }
        out.first.push_back(out.n.size());
    }
    return out;
}

std::vector<std::size_t> mdl_cuts(const Sparser& N, std::size_t K) {
    if (std::accumulate(N.n.begin(), N.n.end(), 0.0) > 1e290) {  // N log N is no float; of so many rows less weigh the same
        Sparser less = N;
        for (auto& n : less.n) n *= 1e-100;
        return mdl_cuts(less, K);
    }
    Splitter splitter(N, K);
    std::vector<std::size_t> found;
    std::vector<std::pair<std::size_t, std::size_t>> open{{0, N.cells()}};
    while (!open.empty()) {
        const auto [a, b] = open.back();
        open.pop_back();
        const std::size_t at = splitter.best(a, b);
        if (at == a) continue;
        found.push_back(at);
        open.emplace_back(a, at);
        open.emplace_back(at, b);
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace posteriori
