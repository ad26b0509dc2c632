#include "parents.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "products.hpp"
#include "scaled.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

// Adds Π_j of up to four super-parents of one row to `sum`, where no product can leave the normal numbers.
template <int L>
inline void add_plain(const std::int32_t* parents, std::size_t n_parents, const std::uint32_t* offsets, std::size_t n,
                      const double* cells, std::size_t stride, double* sum) {
    using Real = typename Lanes<L>::Real;
    Real total = Lanes<L>::load(sum);
    if (n_parents == kTeam && (parents[0] | parents[1] | parents[2] | parents[3]) >= 0) {
        Real product[kTeam];
        const double* row[kTeam];
        for (std::size_t k = 0; k < kTeam; ++k) row[k] = cells + static_cast<std::size_t>(parents[k]) * stride, product[k] = Real{} + 1.0;
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < kTeam; ++k) product[k] *= Lanes<L>::load(row[k] + offsets[j]);
        for (const auto& p : product) total += p;
    } else {
        for (std::size_t k = 0; k < n_parents; ++k) {
            if (parents[k] < 0) continue;
            const double* row = cells + static_cast<std::size_t>(parents[k]) * stride;
            Real product = Real{} + 1.0;
            for (std::size_t j = 0; j < n; ++j) product *= Lanes<L>::load(row + offsets[j]);
            total += product;
        }
    }
    std::memcpy(sum, &total, sizeof total);
}

// A task's rows in plain arithmetic: four super-parents for all rows before the next four, so that their part of the table
// stays in the cache.
template <int L>
void plain_rows(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t d, std::size_t n,
                const ParentTable& theta, std::size_t K, double* out) {
    std::vector<std::uint32_t> offsets(n * d);
    std::vector<std::size_t> known(n);
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t j = 0; j < d; ++j)
            if (columns[r * d + j] >= 0)
                offsets[r * d + known[r]++] = static_cast<std::uint32_t>(static_cast<std::size_t>(columns[r * d + j]) * theta.padded);
    std::vector<double> sums(n * L);
    for (std::size_t lane = 0; lane < K; lane += L) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::size_t s = 0; s < n_parents; s += kTeam)
            for (std::size_t r = 0; r < n; ++r)
                add_plain<L>(rows + r * n_parents + s, std::min(kTeam, n_parents - s), offsets.data() + r * d, known[r],
                             theta.cells + lane, theta.columns * theta.padded, sums.data() + r * L);
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t y = lane; y < std::min(K, lane + L); ++y) out[r * K + y] = std::log(sums[r * L + y - lane]);
    }
}

template <int L>
void sum_lanes(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t d, std::size_t n,
               const ParentTable& theta, std::size_t K, std::size_t block, double* out, int threads) {
    const bool plain = d <= block && theta.columns * theta.padded < (std::size_t{1} << 32);
    parallel_for((n + kChunk - 1) / kChunk, threads, [&](std::size_t task) {
        if (plain) {
            const std::size_t begin = task * kChunk, size = std::min(kChunk, n - begin);
            check_codes(rows + begin * n_parents, size * n_parents, theta.rows);
            check_codes(columns + begin * d, size * d, theta.columns);
            plain_rows<L>(rows + begin * n_parents, n_parents, columns + begin * d, d, size, theta, K, out + begin * K);
            return;
        }
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

}  // namespace

void sum_of_products(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t n_columns,
                     std::size_t n, const ParentTable& theta, std::size_t n_classes, std::size_t block, double* out,
                     int threads) {
    if (theta.padded % 4 == 0)
        sum_lanes<4>(rows, n_parents, columns, n_columns, n, theta, n_classes, block, out, threads);
    else
        sum_lanes<2>(rows, n_parents, columns, n_columns, n, theta, n_classes, block, out, threads);
}

}  // namespace posteriori
