// kDB members of a forest: Bayes classifiers of coded rows, each with cuts, parents and concentrations of its own.
//
// Member m draws a bag of n rows. A numeric column is cut anew, at codes drawn by the weight that lies below them; so each
// column has V values and `values` says which of them a code is. Columns stand in the order of I(X;Y); each takes up to two
// of those before it as parents, drawn by what they tell of it. P(x|y, parents) backs off parent by parent,
//     p_{−1} = 1/V,  p_l = (n_l + c_l p_{l−1})/(N_l + c_l),
// c_l of each column and rung chosen by leaving every row of the bag out in turn, the structure held.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trees.hpp"

namespace posteriori {

constexpr int CANDIDATES = 64, FEWEST_CANDIDATES = 8;  // columns before it that a column looks at, drawn where there are more,
constexpr int LOOKS = CANDIDATES * 256;               // and fewer where there are very many: so many looks in all
constexpr std::uint16_t NONE = 0xffff;  // no value of the member's

// Tables of ln θ[parent 1][parent 2][x][y] of the rungs 0, 1, 2 of each column, one after another.
struct Member {
    std::vector<std::uint16_t> values;   // [first cell of the column + code]
    std::vector<std::int32_t> sizes;     // V of each column
    std::vector<std::int32_t> parents;   // [column][2], −1: none; the stronger first
    std::vector<std::int64_t> starts;    // of each column's tables, and the end
    std::vector<float> tables;
    std::vector<float> prior;            // ln P(y)
};

// `weight[cell]` is the weight of training's rows by cell, `first[j]` the first cell of column j, blank[j] whether code 0 means
// a missing number. `bag[r]` says how often a row was drawn; a column's tables have at most `most` numbers.
template <typename C>
Member grow_member(const CodedRows<C>& rows, const std::uint8_t* blank, const std::int64_t* first, const double* weight,
                   const std::uint32_t* y, int K, const double* bag, std::size_t most, std::uint64_t seed);

// Members laid end to end.
struct Members {
    std::size_t members;
    const std::uint16_t* values;  // [member][cell]
    const std::int32_t *sizes, *parents;  // [member][column], [member][column][2]
    const std::int64_t* starts;   // [member][column + 1], from the beginning of all tables
    const float *tables, *prior;  // prior[member][class]
    int K;
};

// out[row][class] += Σ over members of P(y|x); a value that a member has not says nothing, a parent's ends the ladder.
template <typename C>
void member_sums(const CodedRows<C>& rows, const std::int64_t* first, const Members& members, Bags bags, double* out,
                 std::uint32_t* used, int threads);

}  // namespace posteriori
