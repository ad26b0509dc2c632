// Pair counts: N[xi, xj, y] for all pairs i < j of coded columns, in one pass.
//
// Column j has codes 0 .. sizes[j]-1; sizes[j] is missing and leaves the row out of every table of j. Tables follow each
// other in the order (0,1), (0,2), …, (1,2), …; the table of (i, j) is [xi][xj][y], y fastest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace posteriori {

enum class PairWay { automatic, bitmaps, scalar };

// Adds to `table`; throws std::out_of_range, naming column and row, where a code is too large.
void count_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, Column y,
                 std::uint32_t n_classes, std::size_t n, std::int64_t* table, PairWay way, int threads);

// The same with weights: sums in row order whatever the number of threads.
void weigh_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, Column y,
                 std::uint32_t n_classes, std::size_t n, const double* weights, std::ptrdiff_t weight_stride,
                 double* table, int threads);

// The same where every row gives shares[row, y] to each class y.
void share_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, std::uint32_t n_classes,
                 std::size_t n, const double* shares, double* table, int threads);

}  // namespace posteriori
