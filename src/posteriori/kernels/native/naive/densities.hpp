// Numeric columns of any shape: their histograms, the rows of a sample, and the densities made from both.
// Symbols: V cells of a histogram in rising order, K classes, N[v, y] rows of class y in a cell; R rows of a sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "naive.hpp"

namespace posteriori {

// What statistics/histogram.py calls a Histogram: keys sort as the floats do, a cell of level l holds 2^l of them.
struct Binning {
    std::vector<std::uint64_t> keys;
    std::vector<double> table;  // (V, K)
    int level = 0, seen = CLEAN;
};
// One for each column of X, each with the least level at which it has at most `limit` cells; rows of weight 0 take no part.
std::vector<Binning> histograms(const Matrix<double>& X, const Column& y, std::size_t K, const double* w,
                                std::size_t limit, int threads);

// total[r] += Σ_j mix(bits of x_rj ⊕ salt_j); −0 is 0, and every NaN the same.
void add_hashes(const Matrix<double>& X, const std::uint64_t* salts, std::uint64_t* total, int threads);

// N[v, y] without its zeros: the entries of cell v are those from first[v] to first[v + 1].
struct Sparser {
    std::vector<std::size_t> first;
    std::vector<std::uint32_t> y;
    std::vector<double> n;
    std::size_t cells() const { return first.size() - 1; }
};
Sparser without_zeros(const double* table, std::size_t V, std::size_t K);
// The cells before which Fayyad and Irani's rule cuts.
std::vector<std::size_t> mdl_cuts(const Sparser& N, std::size_t K);

// Places of rising numbers before which a cut lies: all new values where there are at most `bins`, else those beside a value
// of 1/bins of the numbers, or where an equal share of the others ends.
std::vector<std::size_t> greedy_cuts(const double* rising, std::size_t n, std::size_t bins);
// How many cuts are at most x; one more than there are bins where x is missing.
template <typename C> void bin_codes(const double* x, std::size_t n, const double* cuts, std::size_t count, C* out);

// A column as the models see it.
struct Histo {
    const double *values, *centres, *table;
    std::size_t V, K;
    bool exact;
};
struct Moment {
    double n, mean, m2;
};
struct Settings {
    double smoothing, floor, ddof;
};

// K functions of x in pieces: polynomials where they are good to `good`, nothing where halving did not help.
class Pieces {
public:
    static constexpr std::size_t BATCH = KERNEL_BATCH;  // points at a time, of which the K values are asked: (K, BATCH)
    using Values = std::function<void(const double*, double*)>;
    Pieces() = default;
    // Between the first and the last of `ends`, and never across one; where `good` is 0 they are constant.
    Pieces(const Values& values, std::size_t K, std::vector<double> ends, double good);
    std::size_t size() const { return middle_.size(); }
    // The piece of x, or `nowhere`; then its K values are added to `out`, which has room for K rounded up to four.
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    std::uint32_t find(double x) const;
    bool add(std::uint32_t piece, double x, double* out) const;
    // The values of a single function at BATCH points, where one piece has them all.
    bool together(const double* x, double* out) const;
    // All there is: the ends of the pieces, their middles, what t is multiplied by (no number: no polynomial), and c_k of
    // every piece, term and function.
    struct Table {
        std::vector<double> edges, middle, scale, coefficients;
        std::size_t terms;
    };
    Table table() const;

private:
    bool fitted(const Values& values, double a, double b, double* room, double* coefficients) const;
    std::size_t K_ = 0, padded_ = 0, terms_ = 0;
    double good_ = 0.0;
    std::vector<double> edges_, middle_, scale_, coefficients_;
    std::vector<std::uint32_t> bucket_;
    double low_ = 0.0, per_bucket_ = 0.0;
};
inline std::size_t rounded_up(std::size_t K) { return (K + 3) / 4 * 4; }
std::vector<double> even_ends(double from, double to, double width, std::size_t most);

// Bins: cuts, and ln θ[bin, y].
struct Bins {
    std::vector<double> cuts, count, log_theta;
    Bins() = default;
    Bins(const double* values, bool exact, const Sparser& N, std::size_t K, double smoothing);
    std::size_t of(double x) const;
};

// Kernels around the values of each class, ν rows of a normal for all, and their logarithms as `KernelDensity` has them.
struct Kernels {
    struct Class {
        std::vector<double> v, w, tree;
        double h, total, log_near, log_far;
        Pieces sums;  // ln Σ, made where it will be asked often
    };
    std::vector<Class> classes;
    double mean = 0.0, variance = 1.0;
    Kernels() = default;
    Kernels(const Histo& column, double floor);
    bool empty() const { return classes.empty(); }
    // Sums of kernels in pieces between `low` and `high`, good to `good`, where those are fewer than the questions.
    void make_pieces(double low, double high, double good, double asked);
    double log_sum(std::size_t c, double x) const;
    void log_sums(std::size_t c, const double* x, double* out) const;  // of Pieces::BATCH points, best near each other
    void log_density(double x, double* out) const;
    void log_densities(const double* x, double* out) const;  // (K, BATCH)
    double narrowest() const;
    double widest() const;
};

// μ and σ² of each class as `Gaussian` has them.
struct Normals {
    std::vector<double> mean, variance;
    Normals() = default;
    Normals(const Moment* m, std::size_t K, double floor, double ddof, double smoothing);
    void log_density(double x, double* out) const;
    void log_densities(const double* x, double* out) const;  // (K, BATCH)
};
struct Spread {
    Moment pooled;
    double spread, least;  // s², and the width of a class of one value
    bool constant;
    double variance_of(const Moment& m, double rows, double ddof, double smoothing) const;  // of a class of so many rows
};
Moment merged(const Moment& a, const Moment& b);
Spread usual_spread(const Moment& pooled, double within, double floor);

// ln P_m(y|x)/P(y) of ln p_m(x|y), in place, and ln p_m(x); of three densities, the logarithm of their mean.
double odds(double* log_p, const double* log_share, std::size_t K);
void mixture(const double* a, const double* b, const double* c, std::size_t K, double* out);
// The same of Pieces::BATCH points, (K, BATCH); the mixture with ln p(x) added.
void odds_of_many(double* log_p, const double* log_share, std::size_t K, double* total);
void mixture_of_many(const double* a, const double* b, const double* c, std::size_t K, const double* log_p, double* out);

// Rows of a sample and what of them is taken away; `parts` is (candidates, R, K): bins, kernels, a normal, mixed, none.
struct Sampled {
    const std::uint32_t* y;
    const double *out, *turn, *log_share, *per_share;  // per_share: exp(−log_share)
    std::size_t R, K;
    double worst, least;  // least: exp(−worst)
};
// False where a row is not in its histogram, and so cannot be taken away.
bool left_out(const Histo& column, const Moment* moments, const double* x, const Sampled& rows, const Settings& how,
              double folded, double* parts);

// The candidate of each of d columns by coordinate search; `start` (R, K), `parts` (d, M, R, K), `errors` (M,).
struct Search {
    const double *start, *parts, *weights, *errors;
    const std::uint32_t* y;
    std::size_t d, M, R, K;
    std::size_t first, second;  // where it may begin: the second if it is better by `lead` standard errors
    double lead, worst;
    int rounds;
};
std::vector<std::int64_t> search(const Search& s);

// ln p(x|y) of one column.
enum class Shape : int { none, binned, kernel, mixed };
class Curve {
public:
    Curve(Shape shape, const Histo& column, const Moment* moments, const double* log_share, const Settings& how);
    void exact(double x, double* out) const;  // (K,)
    void together(const double* x, double* out) const;  // of Pieces::BATCH points, (K, BATCH)
    // Added to rows of K rounded up to four; NaN adds nothing.
    void add(const double* x, std::ptrdiff_t step, std::size_t count, double* out, int* seen) const;
    double information(const double* prior) const;  // I(X;Y) in nats
    const Pieces& pieces() const { return pieces_; }
    const Kernels& kernels() const { return kernels_; }

private:
    Shape shape_;
    std::size_t K_;
    Bins bins_;
    Kernels kernels_;
    Normals normals_;
    std::vector<double> log_share_;
    Pieces pieces_;
};

// I(X;Y) in nats of each of d columns of normal class densities; mean and variance are (K, d).
void normal_information(const double* mean, const double* variance, std::size_t d, const double* prior, std::size_t K,
                        double* out, int threads);

}  // namespace posteriori
