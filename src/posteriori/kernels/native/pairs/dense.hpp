// Families of few cells, counted in one table each: every row adds one to its cell.
//
// The cell of a row is a number, x_child, then the parents, then some candidates as digits. As many candidates as the table
// has room for are counted together, and what they share is summed out of it: a row is met once for all of them, and a family
// with a parent less is a sum over the family that has it.
#pragma once
#include <cstddef>
#include <vector>

#include "pairs/families.hpp"

namespace posteriori {

// Scores as `toggle_scores` gives them, where this is faster than bitmaps or lists of rows. Which are left is told by their
// places in `out`, in order.
template <typename C>
std::vector<std::size_t> dense_scores(const FamilyData<C>& data, int child, const std::vector<int>& parents,
                                      const std::vector<int>& candidates, const Scoring& how, double* out, int threads, bool own);

}  // namespace posteriori
