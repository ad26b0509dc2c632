// Super-parents: a row under each of them is a product of d factors.
//
// A table theta [R][C][P] has a row for every value of every super-parent, a column for every value of every attribute, and
// P ≥ K classes (P even up to 2 classes, a multiple of 4 above), padded with ones. A row of data names one table row for
// every super-parent (negative: that one takes no part) and one table column for every attribute (negative: missing).
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori {

struct ParentTable {
    const double* cells;
    std::size_t rows, columns, padded;
};

// out[r][y] = ln Σ_s Π_j theta[rows[r][s]][columns[r][j]][y]; −∞ where no super-parent takes part.
// `block` factors multiplied in sequence stay above the subnormal numbers.
void sum_of_products(const std::int32_t* rows, std::size_t n_parents, const std::int32_t* columns, std::size_t n_columns,
                     std::size_t n, const ParentTable& theta, std::size_t n_classes, std::size_t block, double* out,
                     int threads);

// Leave-one-out of every attribute as the single super-parent.
struct LeaveOneOut {
    ParentTable theta;            // θ(xj|y,xi); where j is i, θ(xi|y)
    const double* own;            // unit weights: the same table with one row of class y taken away; else counts + λ
    const double* totals;         // [R][d][P] Σ counts + Sλ; null where `own` already holds probabilities
    const double* prior;          // [K] of the classes that are not the row's
    const double* prior_own;      // [n] of the row's own class
    const std::int32_t* first;    // [d+1] where the table rows of each attribute begin
    std::size_t n_columns;        // d
};

// Adds to sums[s][0..2] the weighted log loss, squared error of P(true) and 0-1 loss of candidate s over all rows.
void leave_one_out(const LeaveOneOut& tables, const std::int32_t* codes, std::size_t n, const std::int32_t* y,
                   std::size_t n_classes, const double* weights, std::size_t block, double* sums, int threads);

}  // namespace posteriori
