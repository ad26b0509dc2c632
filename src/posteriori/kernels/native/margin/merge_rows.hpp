// Equal rows with equal targets as one row of summed weight.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori {

// Groups of the rows of X (n × d) of positive weight, in the order of (target, projections): first[g] is a row of group g,
// total[g] its weight; group[i] (−1: weight 0) and share[i] = weight[i] / total[group[i]] place row i. Returns their number.
// Rows are brought side by side by their projections on two directions (2 × d); only equal ones are one group.
std::size_t merge_rows(const double* X, std::size_t n, std::size_t d, const double* target, const double* weight,
                       const double* directions, std::int64_t* first, double* total, std::int64_t* group, double* share);

}  // namespace posteriori
