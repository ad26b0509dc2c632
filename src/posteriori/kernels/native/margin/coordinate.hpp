// Dual coordinate descent for linear margins (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008).
//
//   min ½ Σ_ij α_i α_j y_i y_j x_iᵀx_j + ½ Σ ridge_i α_i² − Σ α_i,   0 ≤ α_i ≤ upper_i;   w = Σ α_i y_i x_i
//
// A row has `bias` as one more coordinate, the last of w.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori {

struct DenseRows {
    const double* values;
    std::size_t d;
};

struct SparseRows {
    const std::int64_t* starts;
    const std::int32_t* columns;
    const double* values;
    std::size_t d;
};

struct Descent {
    const double *y, *upper, *ridge, *curvature;  // curvature_i = ‖x_i‖² + bias² + ridge_i
    double bias;
    double *alpha, *w;
    std::int64_t* order;  // the rows; the first `active` of them are in play
};

struct Epoch {
    std::size_t active;
    double top, bottom;  // extreme projected gradients of the epoch: shrinking bounds of the next
};

// One pass over the active rows in random order; a row at a bound whose gradient lies beyond the last epoch's is set aside.
template <typename Rows> Epoch descend(const Rows& rows, const Descent& state, Epoch last, std::uint64_t seed);

// out_i = x_iᵀw + bias·w_last
template <typename Rows> void row_dots(const Rows& rows, std::size_t n, double bias, const double* w, double* out, int threads);

// out = Σ weight_i x̃_i, or Σ weight_i (x̃_iᵀw) x̃_i where w is given (x̃ the row with its bias). Rows of weight 0 are not read.
// The sum is of PARTS sums, whatever the number of threads.
template <typename Rows>
void row_sums(const Rows& rows, std::size_t n, double bias, const double* weight, const double* w, double* out, int threads);

}  // namespace posteriori
