// One step of variable elimination.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "triangulate.hpp"

namespace posteriori {

// out[keep] = Σ (or max) over the other axes of Π_f table_f, the axes being 0 … sizes.size() − 1 in this order, scaled to a
// largest cell of 1. Tables marked in `logs` are logarithms. Returns the log of the scale (−∞: all is zero) and whether the
// result is in logarithms itself: its positive cells then lie further apart than doubles reach.
std::pair<double, bool> combine(const std::vector<int>& sizes, const Lists& scopes, const std::vector<const double*>& tables,
                                const std::uint8_t* logs, const std::uint8_t* keep, bool maximise, double* out);

}  // namespace posteriori
