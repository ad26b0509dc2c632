// Ladders: how well the first t attributes foretell the class, each with up to k parents, for all k and t in one pass.
//
// Step t of the order has a family: a child and its parents. Rung l of its ladder is a table [x_p1][…][x_pl][x_child][y] of
// ln θ, which begins at cell `begins[l]` of all tables. A missing child adds nothing; a missing parent ends the climb.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace posteriori {

struct Ladder {
    std::vector<int> family;           // the child, then its parents
    std::vector<std::int64_t> begins;  // of as many rungs
};

struct Ladders {
    std::vector<Column> columns;
    std::vector<std::uint32_t> sizes;  // values of each column; a code that is not below is missing
    std::vector<Ladder> steps;
    const double* log_theta;  // [cell][K]
    const double* start;      // [K] ln P(y)
    std::size_t n_classes, most;
    bool every;  // judge after each step, or only after the last
};

// Adds to sums[k][t][0..2], k ≤ most, t ≤ steps, the log loss, squared error of P(true) and 0-1 loss over all rows, each
// times its weight; sums do not depend on the threads.
void ladder_losses(const Ladders& ladders, Column y, const double* weights, std::size_t n, double* sums, int threads);

}  // namespace posteriori
