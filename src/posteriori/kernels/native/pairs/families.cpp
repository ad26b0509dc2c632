// Every candidate shares the configuration of the parents it is added to: that is numbered once, densely, and a candidate
// costs one pass of increments into a table [π][candidate][child]. Where such a table would be larger than the rows are
// many, rows are taken configuration by configuration, and the table is that of one configuration.
#include "pairs/families.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::uint32_t kMissing = 0xffffffffu;

// The configuration of some columns in each row, numbered densely; `q` as many as could be, `used` as many as there are.
struct Configurations {
    std::vector<std::uint32_t> of;
    std::size_t used = 1;
    double q = 1.0;
    bool complete = true;  // no row is without one
    std::vector<std::uint32_t> order, begin;  // rows by configuration, where a table of all would be too large
};

template <typename C> struct Table {
    const C* codes;
    std::size_t n;
    const std::vector<std::uint32_t>& sizes;
    const double* weights;

    const C* column(int j) const { return codes + static_cast<std::size_t>(j) * n; }
};

std::size_t most_cells(std::size_t n) { return std::max<std::size_t>(std::size_t{1} << 16, 2 * n); }

template <typename C> bool within(const C* x, std::size_t n, std::size_t size) {
    C top = 0;
    for (std::size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    return top < size;
}

// Numbers 0 .. as many as there are, in the order of the old ones.
std::size_t renumber(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& out) {
    std::vector<std::uint64_t> seen;
    seen.reserve(keys.size());
    for (const auto key : keys)
        if (key != ~std::uint64_t{0}) seen.push_back(key);
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (std::size_t i = 0; i < keys.size(); ++i)
        out[i] = keys[i] == ~std::uint64_t{0}
                     ? kMissing
                     : static_cast<std::uint32_t>(std::lower_bound(seen.begin(), seen.end(), keys[i]) - seen.begin());
    return seen.size();
}

template <typename C> Configurations configurations(const Table<C>& table, const std::vector<int>& parents) {
    Configurations found;
    found.of.assign(table.n, 0);
    for (const int j : parents) {
        const std::uint32_t r = table.sizes[static_cast<std::size_t>(j)];
        const C* x = table.column(j);
        found.q *= r;
        found.complete = found.complete && within(x, table.n, r);
        if (static_cast<double>(found.used) * r <= static_cast<double>(most_cells(table.n))) {
            for (std::size_t i = 0; i < table.n; ++i)
                found.of[i] = found.of[i] == kMissing || x[i] >= r ? kMissing : found.of[i] * r + x[i];
            found.used *= r;
        } else {
            std::vector<std::uint64_t> keys(table.n);
            for (std::size_t i = 0; i < table.n; ++i)
                keys[i] = found.of[i] == kMissing || x[i] >= r ? ~std::uint64_t{0} : std::uint64_t{found.of[i]} * r + x[i];
            found.used = renumber(keys, found.of);
        }
    }
    return found;
}

void sort_rows(Configurations& known) {
    known.begin.assign(known.used + 1, 0);
    for (const auto c : known.of)
        if (c != kMissing) ++known.begin[c + 1];
    std::partial_sum(known.begin.begin(), known.begin.end(), known.begin.begin());
    known.order.resize(known.begin.back());
    auto next = known.begin;
    for (std::size_t i = 0; i < known.of.size(); ++i)
        if (known.of[i] != kMissing) known.order[next[known.of[i]]++] = static_cast<std::uint32_t>(i);
}

// What one configuration adds to the score, from N[x] of its r values.
struct Adder {
    const Scoring& how;
    std::size_t r;
    double q;

    double x_log_x(double n) const {
        return how.x_log_x ? how.x_log_x[static_cast<std::size_t>(n)] : (n > 0.0 ? n * std::log(n) : 0.0);
    }

    template <typename N> double operator()(const N* counts) const {
        double total = 0.0, sum = 0.0;
        for (std::size_t x = 0; x < r; ++x) total += static_cast<double>(counts[x]);
        if (total <= 0.0) return 0.0;
        const double a = how.kind == FamilyScore::bdeu ? how.number / (q * static_cast<double>(r)) : 1.0;
        for (std::size_t x = 0; x < r; ++x) {
            const double n = static_cast<double>(counts[x]);
            if (n <= 0.0) continue;
            sum += how.kind == FamilyScore::penalised ? x_log_x(n) : std::lgamma(a + n) - std::lgamma(a);
        }
        if (how.kind == FamilyScore::penalised) return sum - x_log_x(total);
        const double whole = a * static_cast<double>(r);
        return sum + std::lgamma(whole) - std::lgamma(whole + total);
    }

    double price() const { return how.kind == FamilyScore::penalised ? how.number * q * static_cast<double>(r - 1) : 0.0; }
};

// Two tables by turns, so that equal cells one after the other do not wait for each other; the first holds the sum.
template <typename N, typename Cell> void count(std::size_t n, N* counts, std::size_t cells, Cell&& cell) {
    std::size_t i = 0;
    for (; i + 1 < n; i += 2) {
        ++counts[cell(i)];
        ++counts[cells + cell(i + 1)];
    }
    if (i < n) ++counts[cell(i)];
    for (std::size_t k = 0; k < cells; ++k) counts[k] += counts[cells + k];
}

// The score of `child` with the configurations and one more column (-1: none).
template <typename C, typename N>
double score(const Table<C>& table, const Configurations& known, int child, int more, const Scoring& how) {
    const std::size_t r = table.sizes[static_cast<std::size_t>(child)];
    const std::size_t s = more < 0 ? 1 : table.sizes[static_cast<std::size_t>(more)];
    const C* x = table.column(child);
    const C* z = more < 0 ? nullptr : table.column(more);
    const Adder add{how, r, known.q * static_cast<double>(s)};
    double sum = 0.0;
    if (known.order.empty()) {
        const std::size_t cells = known.used * s * r;
        std::vector<N> counts(2 * cells, N{0});
        if (!table.weights && known.complete && within(x, table.n, r) && (!z || within(z, table.n, s))) {
            if (z)
                count(table.n, counts.data(), cells, [&](std::size_t i) { return (known.of[i] * s + z[i]) * r + x[i]; });
            else
                count(table.n, counts.data(), cells, [&](std::size_t i) { return known.of[i] * r + x[i]; });
        } else {
            for (std::size_t i = 0; i < table.n; ++i) {
                if (known.of[i] == kMissing || x[i] >= r || (z && z[i] >= s)) continue;
                counts[(known.of[i] * s + (z ? z[i] : 0)) * r + x[i]] += table.weights ? static_cast<N>(table.weights[i]) : N{1};
            }
        }
        for (std::size_t c = 0; c < known.used * s; ++c) sum += add(counts.data() + c * r);
        return sum - add.price();
    }
    std::vector<N> counts(s * r, N{0});
    std::vector<std::uint32_t> here;
    for (std::size_t c = 0; c < known.used; ++c) {
        here.clear();
        for (std::uint32_t k = known.begin[c]; k < known.begin[c + 1]; ++k) {
            const std::uint32_t i = known.order[k];
            if (x[i] >= r || (z && z[i] >= s)) continue;
            const std::uint32_t at = z ? z[i] : 0;
            here.push_back(at);
            counts[at * r + x[i]] += table.weights ? static_cast<N>(table.weights[i]) : N{1};
        }
        std::sort(here.begin(), here.end());
        here.erase(std::unique(here.begin(), here.end()), here.end());
        for (const auto at : here) {
            sum += add(counts.data() + at * r);
            std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(at * r), r, N{0});
        }
    }
    return sum - add.price();
}

}  // namespace

template <typename C>
void toggle_scores(const C* codes, std::size_t n, const std::vector<std::uint32_t>& sizes, const double* weights, int child,
                   const std::vector<int>& parents, const std::vector<int>& candidates, const Scoring& how, double* out,
                   int threads) {
    const Table<C> table{codes, n, sizes, weights};
    const Configurations all = configurations(table, parents);
    Configurations sorted;
    std::size_t widest = 1;
    for (const int c : candidates) widest = std::max<std::size_t>(widest, sizes[static_cast<std::size_t>(c)]);
    const double r = sizes[static_cast<std::size_t>(child)];
    const bool large = static_cast<double>(all.used) * static_cast<double>(widest) * r > static_cast<double>(most_cells(n));
    if (large) {
        sorted = all;
        sort_rows(sorted);
    }
    parallel_for(candidates.size() + 1, threads, [&](std::size_t task) {
        const auto one = [&](const Configurations& known, int more) {
            return weights ? score<C, double>(table, known, child, more, how)
                           : score<C, std::int32_t>(table, known, child, more, how);
        };
        const int candidate = task ? candidates[task - 1] : -1;
        if (std::find(parents.begin(), parents.end(), candidate) != parents.end()) {
            std::vector<int> fewer;
            std::copy_if(parents.begin(), parents.end(), std::back_inserter(fewer), [&](int p) { return p != candidate; });
            auto known = configurations(table, fewer);
            if (static_cast<double>(known.used) * r > static_cast<double>(most_cells(n))) sort_rows(known);
            out[task] = one(known, -1);
        } else {
            const double s = candidate < 0 ? 1.0 : sizes[static_cast<std::size_t>(candidate)];
            const bool fits = static_cast<double>(all.used) * s * r <= static_cast<double>(most_cells(n));
            out[task] = one(fits ? all : sorted, candidate);
        }
    });
}

template void toggle_scores<std::uint8_t>(const std::uint8_t*, std::size_t, const std::vector<std::uint32_t>&, const double*,
                                          int, const std::vector<int>&, const std::vector<int>&, const Scoring&, double*, int);
template void toggle_scores<std::uint16_t>(const std::uint16_t*, std::size_t, const std::vector<std::uint32_t>&,
                                           const double*, int, const std::vector<int>&, const std::vector<int>&,
                                           const Scoring&, double*, int);
template void toggle_scores<std::uint32_t>(const std::uint32_t*, std::size_t, const std::vector<std::uint32_t>&,
                                           const double*, int, const std::vector<int>&, const std::vector<int>&,
                                           const Scoring&, double*, int);

}  // namespace posteriori
