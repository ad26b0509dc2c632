// Variable elimination: one step, and all of them.
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

// A table over the nodes of its scope, the last fastest: the caller's, or one made here and kept in `own`.
struct Factor {
    std::vector<int> scope;
    const double* table = nullptr;
    bool logs = false;
    std::vector<double> own;
};

struct Left {
    std::vector<Factor> factors;  // their product, times e^log_scale, is what was asked for
    double log_scale = 0;         // −∞: all is zero, and no factor is told
    double peak = 0;              // cells alive at the step that needs most; over the budget nothing is computed
    std::vector<int> widest;      // the nodes of that step
    std::vector<int> states;      // of a maximum: the best state of each node of the order
};

// Σ (or max) of Π factors over the nodes of the order, one after the other, each with the factors that have it.
Left sum_out(const std::vector<int>& sizes, std::vector<Factor> factors, const std::vector<int>& order, double budget, bool maximise);

}  // namespace posteriori
