#include "parents.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "scaled.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr double kLn2 = 0.693147180559945309417232;
constexpr std::size_t kChunk = 512;  // rows of a task
constexpr std::size_t kTeam = 4;     // super-parents multiplied side by side, so that no one waits for another

// The observed cells of a row, as offsets into a table row.
void observed(const std::int32_t* columns, std::size_t d, const ParentTable& theta, std::vector<std::size_t>& offsets) {
    offsets.clear();
    for (std::size_t j = 0; j < d; ++j) {
        if (columns[j] < 0) continue;
        if (static_cast<std::size_t>(columns[j]) >= theta.columns) throw std::out_of_range("a code is outside its table");
        offsets.push_back(static_cast<std::size_t>(columns[j]) * theta.padded);
    }
}

// Π_j of the classes [lane, lane + L) for `team` super-parents at once.
template <int L, std::size_t team>
void products(const double* const* rows, const std::vector<std::size_t>& offsets, std::size_t block, Scaled<L>* out) {
    using Real = typename Lanes<L>::Real;
    Real product[team];
    typename Lanes<L>::Int exponent[team];
    for (std::size_t s = 0; s < team; ++s) product[s] = Real{} + 1.0, exponent[s] = typename Lanes<L>::Int{};
    for (std::size_t begin = 0; begin < offsets.size(); begin += block) {
        const std::size_t end = std::min(offsets.size(), begin + block);
        for (std::size_t j = begin; j < end; ++j)
            for (std::size_t s = 0; s < team; ++s) product[s] *= Lanes<L>::load(rows[s] + offsets[j]);
        if (end == offsets.size()) break;
        for (std::size_t s = 0; s < team; ++s) {
            const auto scaled = Scaled<L>::of(product[s], exponent[s]);
            product[s] = scaled.mantissa, exponent[s] = scaled.exponent;
        }
    }
    for (std::size_t s = 0; s < team; ++s) out[s] = Scaled<L>::of(product[s], exponent[s]);
}

template <int L>
void all_products(const std::vector<const double*>& rows, const std::vector<std::size_t>& offsets, std::size_t block,
                  Scaled<L>* out) {
    std::size_t s = 0;
    for (; s + kTeam <= rows.size(); s += kTeam) products<L, kTeam>(rows.data() + s, offsets, block, out + s);
    for (; s < rows.size(); ++s) products<L, 1>(rows.data() + s, offsets, block, out + s);
}

template <int L>
void sum_lanes(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t d, std::size_t n,
               const ParentTable& theta, std::size_t K, std::size_t block, double* out, int threads) {
    parallel_for((n + kChunk - 1) / kChunk, threads, [&](std::size_t task) {
        std::vector<std::size_t> offsets;
        std::vector<const double*> parents;
        std::vector<Scaled<L>> terms(n_parents);
        for (std::size_t r = task * kChunk; r < std::min(n, (task + 1) * kChunk); ++r) {
            observed(columns + r * d, d, theta, offsets);
            for (std::size_t lane = 0; lane < K; lane += L) {
                parents.clear();
                for (std::size_t s = 0; s < n_parents; ++s) {
                    const std::int32_t row = rows[r * n_parents + s];
                    if (row < 0) continue;
                    if (static_cast<std::size_t>(row) >= theta.rows) throw std::out_of_range("a code is outside its table");
                    parents.push_back(theta.cells + static_cast<std::size_t>(row) * theta.columns * theta.padded + lane);
                }
                all_products<L>(parents, offsets, block, terms.data());
                Scaled<L> sum;
                for (std::size_t s = 0; s < parents.size(); ++s) sum.add(terms[s]);
                for (std::size_t y = lane; y < std::min(K, lane + L); ++y) {
                    const double m = sum.mantissa[y - lane];
                    out[r * K + y] = m > 0 ? std::log(m) + kLn2 * static_cast<double>(sum.exponent[y - lane])
                                           : -std::numeric_limits<double>::infinity();
                }
            }
        }
    });
}

// The joint of every class under one candidate, as mantissas and exponents.
struct Joint {
    std::vector<double> mantissa;
    std::vector<std::int64_t> exponent;
};

// Π_{j≠i} (N − w + λ)/(M − w + Sλ) · the same for j = i, of the row's own class: its own weight taken away.
Scaled<2> own_product(const LeaveOneOut& t, const std::int32_t* codes, std::size_t d, std::size_t candidate, std::size_t y,
                      double gone) {
    const std::size_t P = t.theta.padded;
    const std::size_t row = static_cast<std::size_t>(codes[candidate]);
    const double* cells = t.own + row * t.theta.columns * P + y;
    const double* totals = t.totals ? t.totals + row * d * P + y : nullptr;
    Scaled<2> product = Scaled<2>::of(Lanes<2>::Real{} + 1.0, Lanes<2>::Int{});
    for (std::size_t begin = 0; begin < d; begin += 8) {
        double above = 1.0, below = 1.0;  // eight counts are far from overflow, and so are eight totals
        for (std::size_t j = begin; j < std::min(d, begin + 8); ++j) {
            if (codes[j] < 0) continue;
            above *= std::max(cells[static_cast<std::size_t>(codes[j]) * P] - gone, 0.0);
            if (totals) below *= totals[j * P] - gone;
        }
        product = Scaled<2>::of(product.mantissa * (above > 0 ? above / below : 0.0), product.exponent);
    }
    return product;
}

struct Losses {
    double log, squared, error;
};

Losses losses_of(const Joint& joint, std::size_t K, std::size_t y) {
    std::int64_t top = std::numeric_limits<std::int64_t>::min();
    for (std::size_t c = 0; c < K; ++c)
        if (joint.mantissa[c] > 0) top = std::max(top, joint.exponent[c]);
    double total = 0.0, own = 0.0, best = -1.0;
    std::size_t guess = 0;
    for (std::size_t c = 0; c < K; ++c) {
        const double p = joint.mantissa[c] > 0 ? std::ldexp(joint.mantissa[c], static_cast<int>(std::max<std::int64_t>(
                                                                                     joint.exponent[c] - top, -2000)))
                                               : 0.0;
        total += p;
        if (c == y) own = p;
        if (p > best) best = p, guess = c;
    }
    if (total <= 0) return {std::numeric_limits<double>::infinity(), 1.0, 1.0};
    const double log_own = joint.mantissa[y] > 0
                               ? std::log(joint.mantissa[y]) + kLn2 * static_cast<double>(joint.exponent[y] - top)
                               : -std::numeric_limits<double>::infinity();
    const double miss = 1.0 - own / total;
    return {std::log(total) - log_own, miss * miss, guess == y ? 0.0 : 1.0};
}

template <int L>
void leave_one_out_lanes(const LeaveOneOut& t, const std::int32_t* codes, std::size_t d, std::size_t n, const std::int32_t* y,
                         std::size_t K, const double* weights, std::size_t block, double* sums, int threads) {
    const std::size_t tasks = (n + kChunk - 1) / kChunk, stride = t.theta.columns * t.theta.padded;
    std::vector<double> parts(tasks * d * 3, 0.0);
    parallel_for(tasks, threads, [&](std::size_t task) {
        std::vector<std::size_t> offsets;
        std::vector<const double*> rows;
        std::vector<std::size_t> begins(d + 1);
        std::vector<Scaled<L>> terms;
        Joint joint{std::vector<double>(K), std::vector<std::int64_t>(K)};
        std::vector<Scaled<L>> lanes(d * ((K + L - 1) / L));
        for (std::size_t r = task * kChunk; r < std::min(n, (task + 1) * kChunk); ++r) {
            const std::int32_t* row = codes + r * d;
            observed(row, d, t.theta, offsets);
            for (std::size_t lane = 0, g = 0; lane < K; lane += L, ++g) {
                rows.clear();
                for (std::size_t i = 0; i < d; ++i) {  // a missing super-parent is summed over its values
                    begins[i] = rows.size();
                    const std::int32_t from = row[i] < 0 ? t.first[i] : row[i], to = row[i] < 0 ? t.first[i + 1] : row[i] + 1;
                    for (std::int32_t v = from; v < to; ++v) rows.push_back(t.theta.cells + static_cast<std::size_t>(v) * stride + lane);
                }
                begins[d] = rows.size();
                terms.resize(rows.size());
                all_products<L>(rows, offsets, block, terms.data());
                for (std::size_t i = 0; i < d; ++i) {
                    lanes[g * d + i] = Scaled<L>{};
                    for (std::size_t k = begins[i]; k < begins[i + 1]; ++k) lanes[g * d + i].add(terms[k]);
                }
            }
            const std::size_t own = static_cast<std::size_t>(y[r]);
            const double w = weights ? weights[r] : 1.0;
            const double gone = t.totals ? std::min(w, 1.0) : 0.0;
            for (std::size_t i = 0; i < d; ++i) {
                for (std::size_t c = 0; c < K; ++c) {
                    const auto& s = lanes[c / L * d + i];
                    joint.mantissa[c] = s.mantissa[c % L] * t.prior[c];
                    joint.exponent[c] = s.exponent[c % L];
                }
                if (row[i] >= 0) {
                    const auto s = own_product(t, row, d, i, own, gone);
                    joint.mantissa[own] = s.mantissa[0] * t.prior_own[r], joint.exponent[own] = s.exponent[0];
                } else {  // a row without the super-parent is in none of its tables
                    joint.mantissa[own] = lanes[own / L * d + i].mantissa[own % L] * t.prior_own[r];
                }
                const Losses loss = losses_of(joint, K, own);
                double* part = parts.data() + (task * d + i) * 3;
                part[0] += w * loss.log, part[1] += w * loss.squared, part[2] += w * loss.error;
            }
        }
    });
    for (std::size_t task = 0; task < tasks; ++task)
        for (std::size_t k = 0; k < d * 3; ++k) sums[k] += parts[task * d * 3 + k];
}

}  // namespace

void sum_of_products(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t n_columns,
                     std::size_t n, const ParentTable& theta, std::size_t n_classes, std::size_t block, double* out,
                     int threads) {
    if (theta.padded % 4 == 0)
        sum_lanes<4>(rows, n_parents, columns, n_columns, n, theta, n_classes, block, out, threads);
    else
        sum_lanes<2>(rows, n_parents, columns, n_columns, n, theta, n_classes, block, out, threads);
}

void leave_one_out(const LeaveOneOut& tables, const std::int32_t* codes, std::size_t n_columns, std::size_t n,
                   const std::int32_t* y, std::size_t n_classes, const double* weights, std::size_t block, double* sums,
                   int threads) {
    if (tables.theta.padded % 4 == 0)
        leave_one_out_lanes<4>(tables, codes, n_columns, n, y, n_classes, weights, block, sums, threads);
    else
        leave_one_out_lanes<2>(tables, codes, n_columns, n, y, n_classes, weights, block, sums, threads);
}

}  // namespace posteriori
