// Boosted trees of counts.
//
// A model for each fold, of the rows outside it: F[r][v] of every row and value (one logit for two classes, else one a
// class), to which every round adds a tree. With g and h the first and second derivative of a row's loss by F, G and H their
// sums in a node, a split gains Σ_v G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ), and a node adds rate · v, where
// v = (−G + λ v_parent)/(H + λ) backs off to the value of the node above.
//
// g and h are rounded to whole numbers, so sums are exact: neither the order of rows nor the number of threads changes a
// bit, and the sums of a node are its parent's less its sibling's. `Slopes` rounds finely; `Words` in so few steps that g and
// h of eight classes are added by one instruction.
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
    double per_g = 1, per_h = 1, unit_g = 1, unit_h = 1;
    int shift;  // bits that the sum of all h takes

  public:
    using Unit = Sums;  // a cell has one for each value
    static std::size_t units(int V) { return static_cast<std::size_t>(V); }
    static std::size_t near(int V) { return V * sizeof(Sums); }  // bytes of a cell while rows are added

    Slopes(std::size_t n, int V, std::int32_t = 0);
    void bound(double g, double h);  // the greatest there will be
    void set(std::size_t r, int v, double g, double h);
    Sums sums(std::size_t r, int v) const {
        const Pair& p = of[r * V + v];
        return {p.g, p.h + (std::int64_t{1} << shift)};
    }
    void fetch(std::size_t r) const { __builtin_prefetch(of.data() + r * V); }
    void add(Sums* cell, std::size_t r) const {
        for (std::size_t v = 0; v < V; ++v) cell[v] += sums(r, static_cast<int>(v));
    }
    double g(std::size_t r, int v) const { return of[r * V + v].g * unit_g; }
    double G(const Sums* cell, int v) const { return static_cast<double>(cell[v].g) * unit_g; }
    double H(const Sums* cell, int v) const { return static_cast<double>(cell[v].h & ((std::int64_t{1} << shift) - 1)) * unit_h; }
    std::int64_t rows(const Sums* cell) const { return cell->h >> shift; }
};

// Eight words of 32 bits, g·2¹⁶ + h each: one instruction adds them to others.
struct alignas(32) Row {
    std::uint32_t of[8];
};

// Sums of g and h of eight values; after the last value the number of rows, in h.
struct alignas(64) Eight {
    std::int32_t g[8] = {}, h[8] = {};
    Eight() = default;
    explicit Eight(const Row& words) {
        for (int i = 0; i < 8; ++i) g[i] = static_cast<std::int32_t>(words.of[i]) >> 16, h[i] = static_cast<std::int32_t>(words.of[i] & 0xffff);
    }
    void operator+=(const Eight& other) {
        for (int i = 0; i < 8; ++i) g[i] += other.g[i], h[i] += other.h[i];
    }
    void operator-=(const Eight& other) {
        for (int i = 0; i < 8; ++i) g[i] -= other.g[i], h[i] -= other.h[i];
    }
};

// The same in words, whose halves hold the sums of `most` rows, whatever they are: the fewer these are, the more steps g and h
// have, 319 and 639 of 100 rows, 31 and 63 of 1000. Each is rounded up or down by chance, so that sums are right on average;
// to the variance of a sum of g this adds a share of about one by the steps.
class Words {
    const int V;
    std::vector<Row> words;  // [row][eight]
    double per_g = 1, per_h = 1, unit_g = 1, unit_h = 1;

  public:
    using Unit = Eight;
    const std::int32_t most;
    static constexpr std::size_t ROWS = std::size_t{1} << 24;  // of which an Eight holds the sums
    static std::size_t units(int V) { return static_cast<std::size_t>(V) / 8 + 1; }
    static std::size_t near(int) { return sizeof(Row); }

    Words(std::size_t n, int V, std::int32_t most);
    void bound(double g, double h);
    void set(std::size_t r, const double* g, const double* h, std::uint32_t seed);  // of all values
    // −ln p_y of these rows: g = p − 1[y = k], h = p(1 − p), times a weight of at most `heaviest`, for which `bound` was told.
    // F has eight numbers more than there are.
    void logistic(const std::int32_t* rows, std::size_t m, const float* F, const std::uint32_t* y, const double* weights, std::uint32_t seed);
    const Row* eights(std::size_t r) const { return words.data() + r * units(V); }
    void add(Eight* cell, std::size_t r) const {
        for (std::size_t u = 0; u < units(V); ++u) cell[u] += Eight(eights(r)[u]);
    }
    double g(std::size_t r, int v) const { return Eight(eights(r)[v / 8]).g[v % 8] * unit_g; }
    double G(const Eight* cell, int v) const { return cell[v / 8].g[v % 8] * unit_g; }
    double H(const Eight* cell, int v) const { return cell[v / 8].h[v % 8] * unit_h; }
    std::int64_t rows(const Eight* cell) const { return cell[V / 8].h[V % 8]; }
    double of_g() const { return unit_g; }
    double of_h() const { return unit_h; }
};

// The same codes, those of a row together, since a node's rows are far apart; and columns whose sums stay near side by side.
template <typename C> struct Tiles {
    struct Tile {
        int first, last;  // columns
    };
    std::vector<Tile> tiles;
    std::vector<std::size_t> cells;  // of each column the first, and the end
    std::vector<C> codes;            // [row][column]
    std::vector<std::int32_t> most;  // rows of a value of each column
    std::int32_t fits;               // of a column of many values, which are emptied seldom; between 100 and 1000
    bool worth = false;  // sums of all columns at once, else of one at a time

    // `near` and `kept` bytes of a cell's sums, while rows are added and then
    Tiles(const CodedRows<C>& rows, std::size_t near, std::size_t kept, const Boosting& how, int threads);
};

// Where some rows are laid together: their codes, their sums or words, and cells to which words are added, which are empty
// when nobody is at work.
template <typename C> struct Desk {
    std::vector<C> codes;
    std::vector<Sums> sums;
    std::vector<Row> words, cells;
};

// The sums of rows[from … to) in the cells of all columns, to `plus` and from `minus`, which has these rows among others;
// either may be missing. Of `desks` there is one for each thread.
template <typename C>
void fill(const Slopes& slopes, const Tiles<C>& tiles, int V, const std::int32_t* rows, std::int32_t from, std::int32_t to, Sums* plus,
          Sums* minus, std::vector<Desk<C>>& desks);
template <typename C>
void fill(const Words& words, const Tiles<C>& tiles, int V, const std::int32_t* rows, std::int32_t from, std::int32_t to, Eight* plus,
          Eight* minus, std::vector<Desk<C>>& desks);

// A value of a column, its sums, and its place among named values.
template <typename Unit> struct Seen {
    std::int32_t code;
    const Unit* sums;
    double order;
};

// gains[i] += Σ_v G_L²/(H_L + λ) + G_R²/(H_R + λ) of the places i between values i and i + 1, first ≤ i < last.
void split_gains(const Slopes& slopes, const std::vector<Seen<Sums>>& seen, const Sums* total, int V, double lambda, std::size_t first,
                 std::size_t last, double* gains);
void split_gains(const Words& words, const std::vector<Seen<Eight>>& seen, const Eight* total, int V, double lambda, std::size_t first,
                 std::size_t last, double* gains);

struct BoostedTree {
    CountTree tree;             // without counts
    std::vector<float> values;  // [node][value], what a row that ends there gets
    std::vector<float> gains;   // of each node's split
};

// Grows one tree after the other, on the room that the first has taken.
template <typename C, typename S> class BoostGrower {
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
    BoostedTree grow(std::vector<std::int32_t>& rows, const S& slopes, Xoshiro& random, int threads, Watch& watch);
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
