// Boosted trees of counts.
//
// A model for each fold, of the rows outside it: F[r][v] of every row and value (one logit for two classes, else one a
// class), to which every round adds a tree. With g and h the first and second derivative of a row's loss by F, G and H their
// sums in a node, a split gains Σ_v G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ), and a node adds rate · v, where
// v = (−G + λ v_parent)/(H + λ) backs off to the value of the node above.
//
// g and h are rounded to whole numbers, so sums are exact: neither the order of rows nor the number of threads changes a
// bit, and the sums of a node are its parent's less its sibling's.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "network/xoshiro.hpp"
#include "trees.hpp"
#include "watch.hpp"

namespace posteriori {

struct Boosting {
    bool exponential = false;  // loss e^{f̄ − f_y} instead of −ln p_y
    int depth = 4;
    int tried = 0;    // columns drawn for a node, more until one splits; 0: all, in order
    int least = 3;    // rows on either side
    double rate = 0.1, lambda = 1.0;
    double share = 0.7;  // of a fold's rows that a round draws
    int rounds = 300, every = 10, patience = 3;
    double better = 1e-4;  // what a check must gain to count
};

// Sums of g, and of h with the number of rows above `shift` bits of it.
struct alignas(16) Sums {
    std::int64_t g = 0, h = 0;
    void operator+=(const Sums& other) { g += other.g, h += other.h; }
    void operator-=(const Sums& other) { g -= other.g, h -= other.h; }
};

// g and h of every row and value, [row][value], in units that keep sums of n of them below 2⁶².
class Slopes {
    struct Pair {
        std::int32_t g, h;
    };
    std::vector<Pair> of;
    const std::size_t V;
    int bits_of_h;
    double per_g = 1, per_h = 1;

  public:
    double unit_g = 1, unit_h = 1;
    int shift;  // bits that the sum of all h takes

    Slopes(std::size_t n, int V);
    void bound(double g, double h);  // the greatest there will be
    void set(std::size_t r, int v, double g, double h);
    Sums sums(std::size_t r, int v) const {
        const Pair& p = of[r * V + v];
        return {p.g, p.h + (std::int64_t{1} << shift)};
    }
    void fetch(std::size_t r) const { __builtin_prefetch(of.data() + r * V); }
    double g(std::size_t r, int v) const { return of[r * V + v].g * unit_g; }
    double G(const Sums& s) const { return static_cast<double>(s.g) * unit_g; }
    double H(const Sums& s) const { return static_cast<double>(s.h & ((std::int64_t{1} << shift) - 1)) * unit_h; }
    std::int64_t rows(const Sums& s) const { return s.h >> shift; }
};

// The same codes, a few columns side by side at a time: a node's rows are far apart, and a row's codes come together.
template <typename C> struct Tiles {
    struct Tile {
        int first, last;    // columns
        std::size_t start;  // in `codes`, [row][column]
    };
    std::vector<Tile> tiles;
    std::vector<std::size_t> cells;  // of each column the first, and the end
    std::vector<C> codes;
    bool worth = false;  // sums of all columns at once, else of one at a time

    Tiles(const CodedRows<C>& rows, int V, const Boosting& how, int threads);
};

struct BoostedTree {
    CountTree tree;             // without counts
    std::vector<float> values;  // [node][value], what a row that ends there gets
    std::vector<float> gains;   // of each node's split
};

// Grows one tree after the other, on the room that the first has taken.
template <typename C> class BoostGrower {
    struct Work;
    std::unique_ptr<Work> work;

  public:
    struct Leaf {
        std::int32_t node, from, to;  // places in `rows`
    };
    std::vector<Leaf> leaves;

    BoostGrower(const CodedRows<C>& data, const Tiles<C>& tiles, int V, const Boosting& how);
    BoostGrower(BoostGrower&&) noexcept;
    ~BoostGrower();
    // The tree of these rows, which are put into the order of its leaves.
    BoostedTree grow(std::vector<std::int32_t>& rows, const Slopes& slopes, Xoshiro& random, int threads, Watch& watch);
};

// The trees of fold f are f·rounds … (f + 1)·rounds − 1.
struct Boosted {
    int rounds = 0;
    std::vector<BoostedTree> trees;
    std::vector<float> start;    // [fold][value]
    std::vector<double> losses;  // out of fold, after 0, every, 2·every, … rounds
    std::vector<float> out;      // [row][value]: F by the model of the row's own fold, which has not seen it
};

template <typename C>
Boosted boost(const CodedRows<C>& rows, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
              const std::vector<std::uint64_t>& seeds, const Boosting& how, int threads, Watch& watch, std::atomic<std::size_t>& done);

// P(y) of F: two classes have one logit.
void softmax(const float* F, int K, double* p);

// out[row][class] = the mean over folds of softmax(start + Σ over the fold's trees of the value where the row ends).
template <typename C>
void boosted_posterior(const CodedRows<C>& rows, const Forest<float>& forest, const float* start, std::size_t folds, int K, double* out,
                       int threads);

}  // namespace posteriori
