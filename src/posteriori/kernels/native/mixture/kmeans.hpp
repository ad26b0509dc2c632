// k-means: the nearest centre of every row, exactly, and the sums of the rows of each; `tests/kernels/reference/mixture.py` has the twin.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori::kmeans {

constexpr std::size_t GROUP = 16;  // rows that stand side by side in a panel

// Rows x − shift; distances are compared in units in which no row is longer than about one. `panels`, or null, has them in
// single precision as products read them: (groups, d + 1, GROUP), the last line the rows' lengths.
template <typename T> struct Rows {
    const T* X;
    std::size_t n, d;
    const double *shift, *weights;  // weights may be null
    double unit;
    const float* panels = nullptr;
};

// C (K, d) from the rows' shift; what is too close for single precision is settled by differences x − origin − place.
struct Centres {
    const double* C;
    std::size_t K;
    const double *origin, *place;
};

// S (K, d + 1) = high + low, the rows of each centre summed, with their weights in the last column: two doubles that hold
// twice the digits, so that a row that leaves takes away what it brought.
struct Sums {
    double *high, *low;
};

// What one pass found: labels that changed, rows settled in double precision, and rows that bounds did not spare.
struct Step {
    std::int64_t changed, settled, looked;
};

// label[r] = the centre nearest to row r, the first of equals; rows whose label has changed go from sum to sum (from −1: from
// none; no sums: none). `bounds` (2, n), or null, keeps for each row the distance to its own centre from above and to all
// others from below: given how far each centre has moved since (`drift`, or null in a first pass), a row whose bounds leave
// no doubt is not looked at (Hamerly, 2010). `wide`: products in double precision rather than single.
template <typename T>
Step step(const Rows<T>& rows, const Centres& centres, const double* drift, bool wide, std::int32_t* label, float* bounds,
          const Sums* sums, int threads);

// The rows' panels.
template <typename T> void fill_panels(const Rows<T>& rows, float* out, int threads);

// ‖x − c_label‖² of each row.
template <typename T>
void distances(const Rows<T>& rows, const Centres& centres, const std::int32_t* label, double* out, int threads);

// out[c, r] = min(closest[r], ‖x_r − x_candidate(c)‖²): what each candidate for the next centre would leave.
template <typename T>
void candidates(const Rows<T>& rows, const std::int64_t* candidate, std::size_t m, const double* closest, double* out,
                int threads);

}  // namespace posteriori::kmeans
