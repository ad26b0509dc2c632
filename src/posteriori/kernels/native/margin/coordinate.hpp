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

// A row names a column once.
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

// move ≈ −Q⁻¹g over the m rows `free`, by at most max_steps conjugate gradients:
//   g_i = y_i x̃_iᵀw − 1 + ridge_i α_i,  Q_ij = y_i y_j x̃_iᵀx̃_j + [i = j] ridge_i
template <typename Rows>
void free_move(const Rows& rows, const Descent& state, const std::int64_t* free, std::size_t m, std::size_t max_steps,
               double* move);

// out_i = x_iᵀw + bias·w_last
template <typename Rows> void row_dots(const Rows& rows, std::size_t n, double bias, const double* w, double* out, int threads);

// out = Σ weight_i x̃_i, or Σ weight_i (x̃_iᵀw) x̃_i where w is given (x̃ the row with its bias). Rows of weight 0 are not read.
template <typename Rows>
void row_sums(const Rows& rows, std::size_t n, double bias, const double* weight, const double* w, double* out, int threads);

// out = Σ weight_i x̃_i², cell by cell
template <typename Rows>
void row_squares(const Rows& rows, std::size_t n, double bias, const double* weight, double* out, int threads);

// Conjugate gradients for H out = g, H = 1 + Σ weight_i x̃_i x̃_iᵀ, under way: rest = g − H out, and the next direction.
struct Conjugate {
    double *out, *rest, *along;
};

// Steps until Σ scale·rest² ≤ enough or max_steps; the number taken. `scale` is one over the preconditioner's diagonal.
template <typename Rows>
std::size_t conjugate(const Rows& rows, std::size_t n, double bias, const double* weight, const double* scale,
                      const Conjugate& state, double enough, std::size_t max_steps, int threads);

// Whether all places are in [0, d).
bool within(const std::int32_t* places, std::size_t n, std::size_t d);

// The squared hinge along a line of margins, s_i = max(0, 1 − margin_i − t·slope_i):
// Σ C_i s_i², Σ C_i s_i slope_i, and Σ C_i slope_i² where s_i > 0.
struct HingeLine {
    double value, first, second;
};
HingeLine squared_hinge(const double* margin, const double* slope, const double* C, std::size_t n, double t);

}  // namespace posteriori
