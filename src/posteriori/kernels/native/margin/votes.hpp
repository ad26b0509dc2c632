// One score a class from the decisions of every pair of classes.
#pragma once
#include <cstddef>

namespace posteriori {

// decisions (n, K(K−1)/2), pairs (0, 1), (0, 2) … in order, positive where the first class wins; out (n, K): a class's wins,
// and below them (under ½) the sum of its decisions.
void pair_votes(const double* decisions, std::size_t n, std::size_t classes, double* out);

}  // namespace posteriori
