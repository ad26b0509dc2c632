// Counting and scoring for naive Bayes. The specification of each function is its twin in tests/kernels/reference/naive.py.
// Symbols: n rows, d columns, K classes; a table has one row of K numbers for each cell (column, value).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace posteriori {

// The columns of one table, the cells of each (offsets has d + 1 entries), and whether they are the columns of one
// matrix whose rows are contiguous.
struct Cells {
    std::vector<Column> columns;
    const std::int64_t* offsets;
    std::size_t n;
    bool row_major;
    Cells(std::vector<Column> columns, const std::int64_t* offsets, std::size_t n);
    std::size_t size(std::size_t j) const { return static_cast<std::size_t>(offsets[j + 1] - offsets[j]); }
    std::size_t total() const { return static_cast<std::size_t>(offsets[columns.size()]); }
};

// Rows of numbers, read as T, float or double; strides in elements. Where the rows do not lie in memory as T's side by side
// (Fortran order, integers), `turn` writes a block of them so; nothing larger is ever copied.
template <typename T> struct Matrix {
    const void* data;
    std::size_t n, d;
    std::ptrdiff_t row, column;
    void (*turn)(const Matrix& X, std::size_t begin, std::size_t count, T* out);  // or null
    std::size_t size = sizeof(T);  // bytes of an element

    // Rows from `begin` on, their distance in `step`; `block` has room for them if they must be turned.
    const T* rows(std::size_t begin, std::size_t count, std::vector<T>& block, std::ptrdiff_t* step) const {
        *step = turn ? static_cast<std::ptrdiff_t>(d) : row;
        if (!turn) return static_cast<const T*>(data) + static_cast<std::ptrdiff_t>(begin) * row;
        block.resize(count * d);
        turn(*this, begin, count, block.data());
        return block.data();
    }
};

template <typename S, typename T> void turn_rows(const Matrix<T>& X, std::size_t begin, std::size_t count, T* out) {
    const S* x = static_cast<const S*>(X.data) + static_cast<std::ptrdiff_t>(begin) * X.row;
    const auto d = static_cast<std::ptrdiff_t>(X.d), rows = static_cast<std::ptrdiff_t>(count);
    if (X.column == 1) {
        for (std::ptrdiff_t r = 0; r < rows; ++r)
            for (std::ptrdiff_t j = 0; j < d; ++j) out[r * d + j] = static_cast<T>(x[r * X.row + j]);
    } else {
        for (std::ptrdiff_t j = 0; j < d; ++j)
            for (std::ptrdiff_t r = 0; r < rows; ++r) out[r * d + j] = static_cast<T>(x[r * X.row + j * X.column]);
    }
}

// What is added to: one row for all (stride 0) or one a row; and where results go. A posterior is wanted instead of the
// log joint when `posterior` is set; `impossible` is then the first row that no class allows. `low`, or null, is what
// rounding took from every start.
struct Scores {
    const double* start;
    std::size_t start_stride;
    double* out;
    bool posterior;
    const double* low = nullptr;
};
constexpr std::int64_t NONE = -1;

void count_cells(const Cells& cells, const Column& y, std::size_t K, std::int64_t* table, int threads);
void count_cells(const Cells& cells, const Column& y, std::size_t K, const double* w, double* table, int threads);
// Every row counts shares[row, y] for each class y.
void share_cells(const Cells& cells, std::size_t K, const double* shares, double* table, int threads);
// N of each family of columns, the last fastest, at table + starts[f]; codes are below `sizes`.
void count_families(const std::vector<Column>& columns, const std::int64_t* sizes, std::size_t n,
                    const std::vector<std::vector<int>>& families, const std::int64_t* starts, std::int64_t* table, int threads);
std::int64_t score_cells(const Cells& cells, const double* theta, std::size_t K, const Scores& to, int threads);
// The same for rows of bytes with few values and classes: columns that are looked up together, or 0 where there are more.
std::size_t bytes_level(const Cells& cells, std::size_t K);
std::int64_t score_bytes(const Cells& cells, const double* theta, std::size_t K, const Scores& to, std::size_t level, int threads);

std::int64_t normalise(const double* log_joint, std::size_t n, std::size_t K, double* posterior, double* evidence,
                       int threads);
// One block of rows, in place allowed; evidence may be null. Returns the first row that no class allows, or NONE.
std::int64_t normalise_block(const double* log_joint, std::size_t n, std::size_t K, double* posterior, double* evidence);
// log P(y, x) into the shares w·P(y|x) of each row, or w for the class it is known to be of (−1: it is hidden; `hard`: w for
// its most probable class). Returns Σ w ln P(x), for rows of known class Σ w ln P(y, x), `hard` Σ w max_y ln P(y, x).
double share_out(double* joint, std::size_t n, std::size_t K, const std::int32_t* known, const double* weights, bool hard,
                 int threads);
void exp_all(double* x, std::size_t n);  // x <- exp(x), for x <= 700
void log_all(double* x, std::size_t n);  // x <- ln x, for x in the normal range

enum Seen : int { CLEAN = 0, SAW_NAN = 1, SAW_INF = 2 };
struct MomentsOut {  // (K, d) each; low and high begin as +∞ and −∞, or are null
    double *n, *mean, *m2, *low, *high;
};
template <typename T>
int class_moments(const Matrix<T>& X, const Column& y, std::size_t K, const double* w, const MomentsOut& out, int threads);
// Every row counts shares[row, y] for each class y; no range.
template <typename T>
int share_moments(const Matrix<T>& X, std::size_t K, const double* shares, const MomentsOut& out, int threads);
template <typename T>
std::int64_t score_gaussian(const Matrix<T>& X, const double* mean, const double* variance, std::size_t K,
                            const Scores& to, int threads, int* seen);

// ln Σ_v w_v exp(−½((x − v)/h)²) over n >= 1 sorted centres with w > 0; the tree has 2^(levels + 1) − 1 rows.
constexpr std::size_t KERNEL_TERMS = 24, KERNEL_ROW = KERNEL_TERMS + 3;
std::size_t kernel_levels(std::size_t n);
void kernel_tree(const double* v, const double* w, std::size_t n, double h, double* tree, int threads);
double kernel_sum(double x, const double* v, const double* w, std::size_t n, double h, const double* tree);
// Of KERNEL_BATCH points, best near each other.
constexpr std::size_t KERNEL_BATCH = 16;
void kernel_sums_together(const double* x, const double* v, const double* w, std::size_t n, double h, const double* tree,
                          double* out);
void kernel_sums(const double* x, std::size_t queries, const double* v, const double* w, std::size_t n, double h,
                 const double* tree, double* out, int threads);

// A CSR matrix; with a threshold (not NaN) a cell is 1 above it, else 0. Without data every stored cell is 1.
enum class Number { one, f64, f32, i64, i32, u8 };
template <typename I> struct Sparse {
    const I* indptr;
    const I* indices;
    const void* data;
    Number type;
    std::size_t n, d, stored;
    double threshold;
};
enum Data : int { SOUND = 0, NEGATIVE = 1, NOT_FINITE = 2 };
template <typename I>  // adds to the table
int count_sparse(const Sparse<I>& X, const Column& y, std::size_t K, const double* w, double* table, int threads);
template <typename I>
std::int64_t score_sparse(const Sparse<I>& X, const double* table, std::size_t K, const Scores& to, int threads, int* seen);

// ln(N' + α) − below[scope of the row] of a table (rows, K ≥ 1), N' being the counts N, or what they leave of the row's sum (then
// the negative is taken) or of a whole given by class; says whether all are finite. Σ over the rows of each column, and what
// rounding took from it.
template <typename T> struct Parts {
    const T* counts;
    bool others;             // N' is what the other classes have of the row,
    const double* by_class;  // or what a class leaves of this, or null
    const double* alpha;
    bool one_alpha;      // for all rows
    const double* less;  // (rows, K): what is taken away in the end, or null
};
template <typename T>
bool log_counts(const Parts<T>& N, std::size_t K, const std::int64_t* offsets, std::size_t scopes, const double* below,
                double* out, int threads);
void column_sums(const double* x, std::size_t rows, std::size_t K, double* high, double* low, int threads);

// Integer labels in a short range: the least and greatest (false if they are further apart than `most`), then codes.
template <typename T>
bool label_range(const T* y, std::size_t n, std::ptrdiff_t stride, std::uint64_t most, T* lo, T* hi, int threads);
template <typename T, typename C>
std::vector<T> label_codes(const T* y, std::size_t n, std::ptrdiff_t stride, T lo, std::size_t span, C* codes, int threads);

// Numbers as bytes, floats cut to whole ones; false, and no word of `out`, if one is none of 0 .. 255.
template <typename T> bool narrow(const T* x, std::size_t n, std::uint8_t* out, int threads);

}  // namespace posteriori
