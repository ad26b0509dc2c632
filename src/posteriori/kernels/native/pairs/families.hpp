// Scores of families: how well parents explain a child, for many sets of parents that differ in one.
//
// Codes are a matrix [column][row]; column j has values 0 .. sizes[j]-1, anything else is missing and leaves the row out of
// every family of j. N[π, x] are the rows (or weights) with the parents in configuration π and the child at x; r values of
// the child, q configurations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace posteriori {

enum class FamilyScore { penalised, bdeu, k2 };

struct Scoring {
    FamilyScore kind;
    double number;          // of `penalised` the price of a parameter, of `bdeu` the equivalent sample size
    const double* x_log_x;  // N ln N for N = 0 .. rows, or null: counts may be weights
};

// out[0] is the score of the child with `parents`; out[1 + k] with candidates[k] added to them, or taken from them if it is
// one. Each is summed in the order of the configurations, whatever the number of threads.
template <typename C>
void toggle_scores(const C* codes, std::size_t n, const std::vector<std::uint32_t>& sizes, const double* weights, int child,
                   const std::vector<int>& parents, const std::vector<int>& candidates, const Scoring& scoring,
                   double* out, int threads);

}  // namespace posteriori
