// Where the classes of a histogram part, by the MDL principle of Fayyad and Irani.
//
// N·Ent(S) = N log2 N − Σ_y N_y log2 N_y. From one boundary to the next a cell goes from the right side to the left one, and
// only the terms of the classes that it holds change; where the best cut is, its price is taken afresh.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "densities.hpp"

namespace posteriori {
namespace {

constexpr std::size_t KNOWN = 1 << 12;

double times_log2(double x) { return x > 0.0 ? x * std::log2(x) : 0.0; }

struct Logs {  // x log2 x of small whole numbers
    std::array<double, KNOWN> known;
    Logs() {
        for (std::size_t i = 0; i < KNOWN; ++i) known[i] = times_log2(static_cast<double>(i));
    }
    double operator()(double x) const {
        if (x < static_cast<double>(KNOWN)) {
            const auto i = static_cast<std::int64_t>(x);
            if (static_cast<double>(i) == x) return known[static_cast<std::size_t>(std::max<std::int64_t>(i, 0))];
        }
        return times_log2(x);
    }
};

struct Splitter {
    const Sparser& N;
    std::size_t K;
    const Logs& logs;
    std::vector<double> left, right, cost;

    Splitter(const Sparser& counts, std::size_t classes, const Logs& logarithms)
        : N(counts), K(classes), logs(logarithms), left(K), right(K) {}

    double bits(const std::vector<double>& n) const {
        double total = 0.0, sum = 0.0;
        for (const double one : n) total += one, sum += logs(one);
        return std::max(logs(total) - sum, 0.0);
    }

    // Before which cell of a … b − 1 to cut, or a where no cut pays.
    std::size_t best(std::size_t a, std::size_t b) {
        if (b - a < 2) return a;
        sides(a, a, b);
        double rest = 0.0, of_right = 0.0;
        for (const double one : right) rest += one, of_right += logs(one);
        const double n = rest;
        if (n <= 1.0) return a;
        const double uncut = std::max(logs(n) - of_right, 0.0);
        double here = 0.0, of_left = 0.0, least = std::numeric_limits<double>::infinity();
        cost.resize(b - a);
        for (std::size_t v = a; v + 1 < b; ++v) {
            for (std::size_t e = N.first[v]; e < N.first[v + 1]; ++e) {
                double &l = left[N.y[e]], &r = right[N.y[e]];
                of_left -= logs(l), of_right -= logs(r);
                l += N.n[e], r = std::max(r - N.n[e], 0.0);
                of_left += logs(l), of_right += logs(r);
                here += N.n[e], rest -= N.n[e];
            }
            const double at = std::max(logs(here) - of_left, 0.0) + std::max(logs(std::max(rest, 0.0)) - of_right, 0.0);
            cost[v - a] = at;
            least = std::min(least, at);
        }
        std::size_t at = a;
        while (!(cost[at - a] <= least + 1e-9 * std::max(1.0, uncut))) ++at;  // the lowest of equals
        ++at;
        sides(a, at, b);
        return pays(n, uncut) ? at : a;
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
        return uncut - cut1 - cut2 > price;
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
    static const Logs logs;
    Splitter splitter(N, K, logs);
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
