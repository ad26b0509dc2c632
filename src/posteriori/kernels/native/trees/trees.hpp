// Trees of counts.
//
// Rows are codes, one column after another: codes[j*n + r] in 0 … sizes[j]−1, of a column that is ordered (a number cut
// into bins) or named (categories); a larger code is a value that training did not have. A node has the weight of its rows
// by class. A node that is split sends a row to `child` if its code is at most `cut` (ordered) or among the named values on
// the left, else to `child + 1`; a value that no row of training, or of a named column no row of the node, had goes
// nowhere: the row stays, and the node's own counts answer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "watch.hpp"

namespace posteriori {

enum class Criterion { entropy, ratio, gini };

template <typename C> struct CodedRows {
    const C* codes;
    std::size_t n;
    std::vector<std::int32_t> sizes;
    std::vector<std::uint8_t> named;

    int d() const { return static_cast<int>(sizes.size()); }
    const C* column(int j) const { return codes + static_cast<std::size_t>(j) * n; }
};

struct Growth {
    Criterion criterion = Criterion::entropy;
    int tried = 0;        // columns drawn for a node; 0: all, in order
    bool drawn = false;   // a cut lies anywhere between the codes it parts, and one class orders named values
    int max_depth = 1 << 30;
    double least = 0.0;   // weight on either side
};

// Parents come before their children. `bits` of a named split begin at `cut`: the values on the left, then those seen.
struct CountTree {
    std::vector<std::int32_t> column, cut, child;  // column −1: a leaf
    std::vector<double> counts;                    // [node][class]
    std::vector<std::uint64_t> bits;
};

template <typename C>
CountTree grow_tree(const CodedRows<C>& rows, const std::uint32_t* y, int K, const double* weights, const Growth& how,
                    std::uint64_t seed, Watch& watch);

// How often each of n rows is drawn, n times with replacement: in proportion to weights whose running sums are given, or all
// alike.
void draw_bag(std::size_t n, const double* running, std::uint64_t seed, double* counts);

// Trees laid end to end; N is how their counts are held.
template <typename N> struct Forest {
    const std::int64_t* starts;  // of each tree's nodes, and the end
    const std::int64_t* bit_starts;
    std::size_t trees;
    const std::int32_t *column, *cut, *child;
    const N* counts;
    const std::uint64_t* bits;
    int K;
};

// The rows that each tree has seen: bit r of bags[tree*words + r/64], words = ⌈n/64⌉. Such a tree is not asked about the row.
using Bags = const std::uint64_t*;

// The node where every row ends, out[tree][row].
template <typename C, typename N> void tree_leaves(const CodedRows<C>& rows, const Forest<N>& forest, std::int32_t* out, int threads);

// counts[node][class] += the weight of the rows that pass it, of one tree.
template <typename C>
void path_counts(const CodedRows<C>& rows, const Forest<double>& forest, const std::uint32_t* y, const double* weights, double* counts);

// out[row][class] += Σ over trees of p at the end of the row's way: p_l = (n_l + c_l p_{l−1})/(N_l + c_l) from the root down,
// p_{−1} = 1/K; c_l is c at the root and at a leaf, `between` times c at nodes between them. `used` counts the trees that answered.
template <typename C, typename N>
void forest_sums(const CodedRows<C>& rows, const Forest<N>& forest, double c, double between, Bags bags, double* out, std::uint32_t* used,
                 int threads);

// The same of each row's own class alone, under several concentrations: out[row][c].
template <typename C, typename N>
void forest_truth(const CodedRows<C>& rows, const Forest<N>& forest, const std::uint32_t* y, const std::vector<double>& cs, double between,
                  Bags bags, double* out, std::uint32_t* used, int threads);

}  // namespace posteriori
