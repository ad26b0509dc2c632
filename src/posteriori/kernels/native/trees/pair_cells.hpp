// Counts of two columns by class from bitmaps, where columns have few values: whole numbers, so that it is one and the same
// whether they are counted so, or row by row.
//
// Rows stand class by class, each class filled up to whole lanes of 256 with rows of no value; value v of a column is the bitmap
// of the rows that have it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace posteriori {

constexpr std::size_t LANE_ROWS = 256;
constexpr int BITMAP_VALUES = 16;       // of a column that has bitmaps, at most
constexpr std::uint8_t NO_VALUE = 255;  // of a row that only fills up

// bits[value][word] of rows given as bytes; there are as many as whole lanes have.
void fill_bitmaps(const std::vector<std::uint8_t>& bytes, int V, std::vector<std::uint64_t>& bits);

// A column as bitmaps, and its counts[value][class].
struct Bitmaps {
    int V;
    const std::uint64_t* bits;
    const std::uint32_t* counts;
};

// cells[value of b][value of a][class], the lanes of class k being starts[k] … starts[k + 1] − 1.
void shared_cells(const Bitmaps& a, const Bitmaps& b, const std::vector<std::size_t>& starts, std::uint32_t* cells);

// What `shared_cells` takes, in rows that could be counted one by one instead.
double shared_cost(int Va, int Vb, std::size_t classes, std::size_t lanes);

}  // namespace posteriori
