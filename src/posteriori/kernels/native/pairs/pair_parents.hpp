// Tables of super-parents that are pairs of values: θ[ab][c][y] = (N[a, b, c, y] + λ)/(Σ_c N + Sλ), 1/S where that is 0/0.
//
// The counts are those of all triples of columns i < j < k, [x_i][x_j][x_k][y] each, all cells or those that `cells` names.
// A row of θ is a pair of values; its key is its cell, counted on through all pairs of columns. It has a column for every
// value of every attribute (1 for those of the pair itself) and P ≥ K classes, padded with ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace posteriori {

template <typename N> struct Triples {
    const std::int32_t* scopes;   // [scopes][3]
    const std::int64_t* offsets;  // [scopes + 1] where the cells of each begin
    const std::int64_t* cells;    // which cell each is; null: all of them, in order
    const N* counts;              // [cell][K]
    std::size_t n_scopes, n_classes;
};

// `theta` [R][V][P] comes filled with zeros.
template <typename N>
void pair_tables(const Triples<N>& triples, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& keys,
                 double smoothing, std::size_t padded, double* theta, int threads);

}  // namespace posteriori
