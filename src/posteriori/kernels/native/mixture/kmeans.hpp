// k-means: the nearest centre of every row, exactly, and the sums of the rows of each; `reference/mixture.py` has the twin.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori::kmeans {

// Rows x − shift; distances are compared in units in which no row is longer than about one.
template <typename T> struct Rows {
    const T* X;
    std::size_t n, d;
    const double *shift, *weights;  // weights may be null
    double unit;
};

struct Centres {
    const double* C;  // (K, d), from the shift
    std::size_t K;
};

// What one pass found: labels that changed, and rows whose nearest centre had to be settled in double precision.
struct Step {
    std::int64_t changed, settled;
};

// label[r] = the centre nearest to row r, the first of equals; S (K, d) and N (K) sum the weighted rows by label. `bounds`
// (n, 2), or null, keeps for each row the distance to its own centre from above and to all others from below: given how far
// each centre has moved since (`drift`, or null in a first pass), a row whose bounds leave no doubt is not looked at
// (Hamerly, 2010). `wide`: products in double precision rather than single.
template <typename T>
Step step(const Rows<T>& rows, const Centres& centres, const double* drift, bool wide, std::int32_t* label, float* bounds,
          double* S, double* N, int threads);

// ‖x − c_label‖² of each row.
template <typename T>
void distances(const Rows<T>& rows, const Centres& centres, const std::int32_t* label, double* out, int threads);

// out[c, r] = min(closest[r], ‖x_r − x_candidate(c)‖²): what each candidate for the next centre would leave.
template <typename T>
void candidates(const Rows<T>& rows, const std::int64_t* candidate, std::size_t m, const double* closest, double* out,
                int threads);

}  // namespace posteriori::kmeans
