// Ridge multinomial logistic regression of several draws of rows at a time, by L-BFGS in a metric that is told.
#pragma once
#include <cstddef>
#include <cstdint>

#include "watch.hpp"

namespace posteriori {

// n points z of f coordinates; a class and a weight each. Scores of C classes, or of the second alone where C is 1.
struct RidgeTask {
    const double* points;  // [n, f]
    std::size_t f, C;
    const std::uint32_t* y;
    const double* weights;
    const double* offset;  // [C], added to every score
    const double* charge;  // [f + 1], λ of each coordinate, and of the intercept
    const double* metric;  // [C, f + 1], about the inverse of the curvature
    std::size_t steps;
    double tol;  // a step that promises less, in the mean of a row, is not made
};

// B[C, f + 1] from where it is to the least Σ_r w_r/W · loss_r + ½ Σ charge B²/W, over these rows, W = Σ w_r; returns that.
double ridge_descend(const RidgeTask& task, const std::int32_t* rows, std::size_t count, double* B, Watch& watch);

}  // namespace posteriori
