// Leave-one-out of every attribute as the super-parent.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "parents.hpp"
#include "products.hpp"
#include "scaled.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

double power_of_two(std::int64_t k) {  // k ≤ 0
    if (k < -1022) return 0.0;
    const std::int64_t bits = (k + 1023) << 52;
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

struct Number {  // mantissa · 2^exponent
    double mantissa;
    std::int64_t exponent;
};

// A row as the leave-one-out sees it: its cells as offsets into a table row, and the columns they belong to.
struct Row {
    std::vector<std::size_t> offsets, columns;
    std::size_t y = 0;
    double weight = 1.0, gone = 0.0;  // how often it counts, and how much of it is taken away
};

// The factors of the row's own class without the row itself, for `team` super-parents side by side.
template <std::size_t team>
void own_products(const LeaveOneOut& t, const Row& row, const std::size_t* parents, std::size_t block, Number* out) {
    const std::size_t P = t.theta.padded, d = t.n_columns;
    const double *cells[team], *totals[team];
    for (std::size_t s = 0; s < team; ++s) {
        cells[s] = t.own + parents[s] * t.theta.columns * P + row.y;
        totals[s] = t.totals ? t.totals + parents[s] * d * P + row.y : nullptr;
        out[s] = {1.0, 0};
    }
    if (t.totals) block = 8;  // eight counts multiplied are far from overflow
    for (std::size_t begin = 0; begin < row.offsets.size(); begin += block) {
        const std::size_t end = std::min(row.offsets.size(), begin + block);
        double above[team], below[team];
        for (std::size_t s = 0; s < team; ++s) above[s] = below[s] = 1.0;
        if (!t.totals)
            for (std::size_t j = begin; j < end; ++j)
                for (std::size_t s = 0; s < team; ++s) above[s] *= cells[s][row.offsets[j]];
        else
            for (std::size_t j = begin; j < end; ++j)
                for (std::size_t s = 0; s < team; ++s) {
                    above[s] *= std::max(cells[s][row.offsets[j]] - row.gone, 0.0);
                    below[s] *= totals[s][row.columns[j] * P] - row.gone;
                }
        for (std::size_t s = 0; s < team; ++s) {
            const double share = above[s] > 0 ? above[s] / below[s] : 0.0;
            const auto v = Scaled<2>::of(Lanes<2>::Real{} + out[s].mantissa * share, Lanes<2>::Int{} + out[s].exponent);
            out[s] = {v.mantissa[0], v.exponent[0]};
        }
    }
}

// Σ w ln x of many x ≥ 1: multiplied where all weights are one, so that a logarithm is taken rarely.
struct LogSum {
    double sum = 0.0, product = 1.0;
    void add(double x, double weight, bool unit) {
        if (!unit || !(x < 0x1p400)) {
            sum += weight * std::log(x);
            return;
        }
        product *= x;
        if (product > 0x1p400) sum += std::log(product), product = 1.0;
    }
    double total() const { return sum + std::log(product); }
};

struct Tally {
    LogSum log;
    double squared = 0.0, errors = 0.0;
};

// Adds the losses of one row under one candidate; `joint` has the classes of the table, `own` its own class.
void judge(const Number* joint, std::size_t K, const Row& row, bool unit, Tally& tally) {
    std::int64_t top = std::numeric_limits<std::int64_t>::min();
    for (std::size_t c = 0; c < K; ++c)
        if (joint[c].mantissa > 0) top = std::max(top, joint[c].exponent);
    double total = 0.0, own = 0.0, best = -1.0;
    std::size_t guess = 0;
    for (std::size_t c = 0; c < K; ++c) {
        const double p = joint[c].mantissa > 0 ? joint[c].mantissa * power_of_two(joint[c].exponent - top) : 0.0;
        total += p;
        if (c == row.y) own = p;
        if (p > best) best = p, guess = c;
    }
    const double miss = total > 0 ? 1.0 - own / total : 1.0;
    tally.squared += row.weight * miss * miss;
    tally.errors += total > 0 && guess == row.y ? 0.0 : row.weight;
    if (own > 0x1p-900)
        tally.log.add(total / own, row.weight, unit);
    else if (joint[row.y].mantissa > 0)
        tally.log.sum += row.weight * (std::log(total / joint[row.y].mantissa) +
                                       kLn2 * static_cast<double>(top - joint[row.y].exponent));
    else
        tally.log.sum = std::numeric_limits<double>::infinity();
}

// One task's rows: scratch space, and what it has added up.
template <int L> struct Judge {
    const LeaveOneOut& t;
    std::size_t K, block;
    std::vector<Tally> tallies;
    Row row{};
    std::vector<std::size_t> parents{}, begins{};
    std::vector<std::uint8_t> blank{};  // whether the super-parent of a candidate is missing
    std::vector<const double*> rows{};
    std::vector<Scaled<L>> terms{}, lanes{};
    std::vector<Number> own{}, joint{};

    Judge(const LeaveOneOut& tables, std::size_t k, std::size_t b) : t(tables), K(k), block(b), tallies(tables.n_columns) {
        begins.resize(t.n_columns + 1);
        blank.resize(t.n_columns);
        own.resize(t.n_columns);
        joint.resize(K);
        lanes.resize(t.n_columns * ((K + L - 1) / L));
    }

    void read(const std::int32_t* codes, std::size_t y, double weight) {
        observed(codes, t.n_columns, t.theta, row.offsets);
        row.columns.clear();
        for (std::size_t j = 0; j < t.n_columns; ++j)
            if (codes[j] >= 0) row.columns.push_back(j);
        row.y = y, row.weight = weight, row.gone = std::min(weight, 1.0);
        parents.clear();
        for (std::size_t i = 0; i < t.n_columns; ++i) {  // a missing super-parent is summed over its values
            begins[i] = parents.size();
            blank[i] = codes[i] < 0;
            const std::int32_t from = codes[i] < 0 ? t.first[i] : codes[i], to = codes[i] < 0 ? t.first[i + 1] : codes[i] + 1;
            for (std::int32_t v = from; v < to; ++v) parents.push_back(static_cast<std::size_t>(v));
        }
        begins[t.n_columns] = parents.size();
    }

    void all_classes() {
        for (std::size_t lane = 0, g = 0; lane < K; lane += L, ++g) {
            rows.clear();
            for (auto p : parents) rows.push_back(t.theta.cells + p * t.theta.columns * t.theta.padded + lane);
            terms.resize(rows.size());
            all_products<L>(rows, row.offsets, block, terms.data());
            for (std::size_t i = 0; i < t.n_columns; ++i) {
                auto& sum = lanes[g * t.n_columns + i];
                if (!blank[i]) {
                    sum = terms[begins[i]];
                    continue;
                }
                sum = Scaled<L>{};
                for (std::size_t k = begins[i]; k < begins[i + 1]; ++k) {
                    const auto theta = Lanes<L>::load(rows[k] + parents[k] * t.theta.padded);  // θ of that value itself
                    sum.add(Scaled<L>::of(terms[k].mantissa * theta, terms[k].exponent));
                }
            }
        }
    }

    void own_class(const std::int32_t* codes) {
        std::size_t team[kTeam], who[kTeam], n = 0;
        Number found[kTeam];
        for (std::size_t i = 0; i < t.n_columns; ++i) {
            if (codes[i] < 0) {  // a row without the super-parent is in none of its tables
                const auto& s = lanes[row.y / L * t.n_columns + i];
                own[i] = {s.mantissa[row.y % L], s.exponent[row.y % L]};
                continue;
            }
            team[n] = static_cast<std::size_t>(codes[i]), who[n] = i;
            if (++n < kTeam) continue;
            own_products<kTeam>(t, row, team, block, found);
            for (n = 0; n < kTeam; ++n) own[who[n]] = found[n];
            n = 0;
        }
        for (std::size_t k = 0; k < n; ++k) {
            own_products<1>(t, row, team + k, block, found);
            own[who[k]] = found[0];
        }
    }

    void judge_all(double prior_own, bool unit) {
        for (std::size_t i = 0; i < t.n_columns; ++i) {
            for (std::size_t c = 0; c < K; ++c) {
                const auto& s = lanes[c / L * t.n_columns + i];
                joint[c] = {s.mantissa[c % L] * t.prior[c], s.exponent[c % L]};
            }
            joint[row.y] = {own[i].mantissa * prior_own, own[i].exponent};
            judge(joint.data(), K, row, unit, tallies[i]);
        }
    }
};

// The same losses in plain arithmetic: `joint` has K ≤ L classes, zero beyond them.
template <int L>
inline void judge_plain(typename Lanes<L>::Real joint, std::size_t K, std::size_t y, double weight, bool unit, Tally& tally) {
    double total = 0.0;
    std::size_t guess = 0;
    for (std::size_t c = 0; c < K; ++c) {
        total += joint[c];
        if (joint[c] > joint[guess]) guess = c;
    }
    const double own = joint[y], miss = total > 0 ? 1.0 - own / total : 1.0;
    tally.squared += weight * miss * miss;
    tally.errors += total > 0 && guess == y ? 0.0 : weight;
    if (own > 0)
        tally.log.add(total / own, weight, unit);
    else
        tally.log.sum = std::numeric_limits<double>::infinity();
}

// A task's rows where nothing is missing, no product leaves the normal numbers and the table `own` holds probabilities: four
// candidates for all rows before the next four, so that their part of the tables stays in the cache.
template <int L>
void judge_rows(const LeaveOneOut& t, const std::int32_t* codes, std::size_t n, const std::int32_t* y, std::size_t K,
                const double* weights, const double* prior_own, std::vector<Tally>& tallies) {
    using Real = typename Lanes<L>::Real;
    const std::size_t d = t.n_columns, P = t.theta.padded, stride = t.theta.columns * P;
    std::vector<std::uint32_t> offsets(n * d);
    for (std::size_t k = 0; k < n * d; ++k) offsets[k] = static_cast<std::uint32_t>(static_cast<std::size_t>(codes[k]) * P);
    Real prior = Real{};
    for (std::size_t c = 0; c < K; ++c) prior[c] = t.prior[c];
    for (std::size_t s = 0; s < d; s += kTeam) {
        const std::size_t team = std::min(kTeam, d - s);
        for (std::size_t r = 0; r < n; ++r) {
            const std::uint32_t* at = offsets.data() + r * d;
            const std::size_t own_class = static_cast<std::size_t>(y[r]);
            Real product[kTeam];
            double own[kTeam];
            const double *row[kTeam], *mine[kTeam];
            for (std::size_t k = 0; k < kTeam; ++k) {
                const std::size_t parent = static_cast<std::size_t>(codes[r * d + std::min(s + k, d - 1)]) * stride;
                row[k] = t.theta.cells + parent, mine[k] = t.own + parent + own_class;
                product[k] = prior, own[k] = prior_own[r];
            }
            for (std::size_t j = 0; j < d; ++j)
                for (std::size_t k = 0; k < kTeam; ++k) product[k] *= Lanes<L>::load(row[k] + at[j]), own[k] *= mine[k][at[j]];
            for (std::size_t k = 0; k < team; ++k) {
                product[k][own_class] = own[k];
                judge_plain<L>(product[k], K, own_class, weights ? weights[r] : 1.0, weights == nullptr, tallies[s + k]);
            }
        }
    }
}

template <int L>
void leave_one_out_lanes(const LeaveOneOut& t, const std::int32_t* codes, std::size_t n, const std::int32_t* y, std::size_t K,
                         const double* weights, std::size_t block, double* sums, int threads) {
    const std::size_t tasks = (n + kChunk - 1) / kChunk, d = t.n_columns;
    // two factors to spare for the prior, which may be a count
    const bool plainly = !t.totals && K <= L && d + 2 <= block && t.theta.columns * t.theta.padded < (std::size_t{1} << 32);
    std::vector<double> parts(tasks * d * 3);
    parallel_for(tasks, threads, [&](std::size_t task) {
        Judge<L> judge(t, K, block);
        const std::size_t begin = task * kChunk, size = std::min(kChunk, n - begin);
        const bool whole = *std::min_element(codes + begin * d, codes + (begin + size) * d) >= 0;
        const bool plain = plainly && whole;
        if (plain) {
            check_codes(codes + begin * d, size * d, t.theta.columns);
            judge_rows<L>(t, codes + begin * d, size, y + begin, K, weights ? weights + begin : nullptr, t.prior_own + begin,
                          judge.tallies);
        }
        for (std::size_t r = begin; !plain && r < begin + size; ++r) {
            judge.read(codes + r * d, static_cast<std::size_t>(y[r]), weights ? weights[r] : 1.0);
            judge.all_classes();
            judge.own_class(codes + r * d);
            judge.judge_all(t.prior_own[r], weights == nullptr);
        }
        for (std::size_t i = 0; i < d; ++i) {
            double* part = parts.data() + (task * d + i) * 3;
            const Tally& tally = judge.tallies[i];
            part[0] = tally.log.total(), part[1] = tally.squared, part[2] = tally.errors;
        }
    });
    for (std::size_t task = 0; task < tasks; ++task)
        for (std::size_t k = 0; k < d * 3; ++k) sums[k] += parts[task * d * 3 + k];
}

}  // namespace

void leave_one_out(const LeaveOneOut& tables, const std::int32_t* codes, std::size_t n, const std::int32_t* y,
                   std::size_t n_classes, const double* weights, std::size_t block, double* sums, int threads) {
    if (tables.theta.padded % 4 == 0)
        leave_one_out_lanes<4>(tables, codes, n, y, n_classes, weights, block, sums, threads);
    else
        leave_one_out_lanes<2>(tables, codes, n, y, n_classes, weights, block, sums, threads);
}

}  // namespace posteriori
