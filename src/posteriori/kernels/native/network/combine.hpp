// One step of variable elimination.
#pragma once
#include <cstdint>
#include <vector>

#include "triangulate.hpp"

namespace posteriori {

// out[keep] = Σ (or max) over the other axes of Π_f table_f, the axes being 0 … sizes.size() − 1 in this order.
// Returns the log of what the result is to be multiplied by: 0, unless the product could underflow and was scaled.
double combine(const std::vector<int>& sizes, const Lists& scopes, const std::vector<const double*>& tables,
             const std::uint8_t* keep, bool maximise, double* out);

}  // namespace posteriori
