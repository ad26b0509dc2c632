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
constexpr int RUNGS = 13;               // concentrations ¼ … 1024

inline double concentration(int rung) { return 0.25 * static_cast<double>(1 << rung); }

// What a member has counted. `cells` are, column after column: the rungs r of its ladder, c = ¼ 2^r, four bits each; the k of gaps
// and that of counts (`bits.hpp`); and of each cell of n[parent 1][parent 2][x][y] that rows have, in their order, how many cells
// without rows come before it, and its count less one. A column ends where its counts sum to the rows drawn.
struct Member {
    std::vector<std::int32_t> sizes;    // V of each column
    std::vector<std::uint16_t> cuts;    // the codes with which values begin, but for the first, of columns where not every code is one
    std::vector<std::int32_t> parents;  // [column][2], the stronger first, counted from one; 0: none
    std::vector<std::uint8_t> cells;
    std::vector<float> prior;           // ln P(y)
};

// `weight[cell]` is the weight of training's rows by cell, `first[j]` the first cell of column j, blank[j] whether code 0 means
// a missing number. `bag[r]` says how often a row was drawn; a column's tables have at most `most` numbers.
template <typename C>
Member grow_member(const CodedRows<C>& rows, const std::uint8_t* blank, const std::int64_t* first, const double* weight,
                   const std::uint32_t* y, int K, const double* bag, std::size_t most, std::uint64_t seed);

// What members have counted, end to end: `whole` rows each.
struct Counted {
    std::size_t members;
    int K;
    std::vector<std::int32_t> codes;            // of each column
    const std::int32_t *sizes, *parents;        // [member][column], [member][column][2]
    const std::uint16_t* cuts;
    const std::uint8_t* cells;
    const std::int64_t *cut_ends, *cell_ends;   // [member + 1]
    std::uint64_t whole;

    int d() const { return static_cast<int>(codes.size()); }
};

// Where the tables of each column begin, [member][column + 1]; what does not fit, or null.
const char* lay_out(const Counted& counted, std::int64_t* starts);

// What a code is to each member, [member][code], and tables of ln θ[parent 1][parent 2][x][y] of the rungs 0, 1, 2 of each
// column, one after another, where `lay_out` says.
void open_members(const Counted& counted, const std::int64_t* starts, std::uint16_t* values, float* tables, int threads);

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
