// A kd-tree in flat arrays. Symbols: n points, d dimensions, W = 8 lanes.
//
// The tree is kept twice. The binary nodes are the kd-tree of the textbooks, in preorder: `dim` and `value` of the cut
// (left: x[dim] < value), the box of the points below. The wide nodes are the same tree with three levels in one: eight
// boxes side by side in float, centred, scaled and rounded outwards, so that one pass of eight lanes bounds the distance
// to eight subtrees. A leaf is a run of blocks; a block holds W points, dimension by dimension, so that a vector register
// takes one coordinate of W points. Empty lanes are at infinity and have the id `nobody`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "raw.hpp"
#include "watch.hpp"

namespace posteriori::kdtree {

constexpr int W = 8;
constexpr std::int32_t nobody = std::numeric_limits<std::int32_t>::max();

enum class Metric : int { euclidean = 0, manhattan = 1, chebyshev = 2, minkowski = 3 };

template <typename T> struct Tree {
    Raw<std::int32_t> dim;                 // (nodes) cut dimension, −1 at a leaf
    Raw<T> value;                          // (nodes) cut
    Raw<std::int32_t> right;               // (nodes) right child (the left one follows its parent); at a leaf its number
    Raw<T> lo, hi;                         // (nodes, d) box of the points below
    Raw<std::int32_t> leaf_block;          // (leaves + 1) first block
    Raw<std::int32_t> leaf_count;          // (leaves) points
    Raw<T> blocks;                         // (blocks, d, W)
    Raw<std::int32_t> ids;                 // (blocks, W) row of each point
    Raw<float> wide_box;                   // (wide, 2, d, W) low corners, then high corners
    Raw<std::int32_t> wide_child;          // (wide, W) wide node, or ~leaf, or `nobody`
    std::vector<double> centre;            // (d) the boxes' origin
    double unit = 1;                       // the boxes' length: box = (x − centre)·unit
};

// A tree as the searches see it: borrowed arrays, the letters as above.
template <typename T> struct View {
    int d;
    std::int64_t n, leaves, wide;
    const std::int32_t *dim, *right, *leaf_block, *leaf_count, *ids, *wide_child;
    const T *value, *blocks;
    const float* wide_box;
    const double* centre;
    double unit;
    int leaf_size;
};

// Least and largest value of each column (lo, hi: d) and whether every value is finite.
template <typename T> bool bounds(const T* X, std::int64_t n, int d, T* lo, T* hi, int threads);

// The tree of X·scale (n × d, rows). A leaf holds at most leaf_size points unless all of them are equal.
template <typename T> Tree<T> build(const T* X, std::int64_t n, int d, T scale, int leaf_size, int threads);

// The wide nodes of a tree that has its binary ones.
template <typename T> void widen(Tree<T>& tree, int d, int threads);

struct Ask {
    Metric metric;
    double p;
    int threads;
    Poll poll;
};

// The k nearest of every row of Q (m × d), by distance and then by id; row skip[i], where given, is not query i's neighbour.
template <typename T>
void nearest(const View<T>& tree, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const Ask& ask, T* distance,
             std::int64_t* index);

// The points within radius[i] of query i. count: (m). With `found` and `far` the points themselves, a vector a query, by id.
template <typename T>
void within(const View<T>& tree, const T* Q, std::int64_t m, const T* radius, const Ask& ask, std::int64_t* count,
            std::vector<std::vector<std::int32_t>>* found, std::vector<std::vector<T>>* far);

}  // namespace posteriori::kdtree
