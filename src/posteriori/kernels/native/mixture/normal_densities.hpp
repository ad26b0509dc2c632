// Log densities of normal components: rows stand in lanes, eight (two registers) to a group; triangular products in tiles of
// registers.
#pragma once
#include <vector>

#include "margin/lanes.hpp"
#include "normal_sums.hpp"

namespace posteriori::mixture {

using V = Vec<double>;
constexpr std::size_t W = WIDTH<double>, G = 2 * W;  // rows of a group

POSTERIORI_INLINE V at(const double* p) { return load<double>(p); }
POSTERIORI_INLINE void put(double* p, V v) { store<double>(p, v); }
POSTERIORI_INLINE V all(double x) { return spread<double>(x); }

// The factors of all components as the tiles read them: for each four columns i of U, the rows j up to the last of them.
struct Plan {
    const Components& theta;
    std::size_t d4;                   // columns, rounded up to whole tiles; those added are zero
    std::vector<double> tiles, mean;  // (K, tile_size), (K, d4)
    std::size_t tile_size = 0;
    std::vector<double> constant, cell;  // log of what a density is multiplied by: of a component, of its cells

    explicit Plan(const Components& t);
};

// Rows as groups: panel[g][j][row of the group], in the model's units; rows beyond n are zero.
template <typename T>
void read_rows(const T* X, std::size_t first, std::size_t count, std::size_t rows, const Plan& plan, double* panel) {
    const std::size_t d = plan.theta.d, d4 = plan.d4;
    for (std::size_t r = 0; r < rows; ++r) {
        double* out = panel + r / G * d4 * G + r % G;
        const T* x = X + (first + r) * d;
        for (std::size_t j = 0; j < d; ++j) out[j * G] = r < count ? double(x[j]) * plan.theta.unit[j] : 0.0;
        for (std::size_t j = d; j < d4; ++j) out[j * G] = 0.0;
    }
}

inline bool any_missing(const double* panel, std::size_t size) {
    bool found = false;
    for (std::size_t i = 0; i < size; ++i) found |= panel[i] != panel[i];
    return found;
}

// log π_k + log N(z; k) of a group of rows into out[k · stride + row]; `gap` has room for a group. `gaps`: cells are missing.
void full_densities(const Plan& plan, const double* group, double* gap, double* out, std::size_t stride);
void diagonal_densities(const Plan& plan, bool gaps, const double* group, double* out, std::size_t stride);

}  // namespace posteriori::mixture
