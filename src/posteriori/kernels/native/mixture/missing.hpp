// Rows with missing cells under normal components; `tests/kernels/reference/mixture.py` states what is computed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori::mixture {

// Rows in the model's units, NaN where a cell is missing; rows starts[p] … starts[p + 1] − 1 lack the same cells.
struct Broken {
    const double* Z;
    std::size_t n, d;
    const std::int64_t* starts;
    std::size_t patterns;
};

// Covariances (K, d, d); `log_unit` (d) is added to the log density of each cell that is there.
struct Normals {
    std::size_t K;
    const double *means, *covariances, *log_weights, *log_unit;
};

// log π_k + log N(cells that are there; k), shape (n, K).
void broken_log_joint(const Broken& rows, const Normals& theta, double* out, int threads);

// ℓ is returned; N (K), S (K, d) and Q (K, d, d) are written, with what is missing as it is expected.
double broken_sums(const Broken& rows, const double* weights, const Normals& theta, const double* pivots,
                   const double* shares, double* N, double* S, double* Q, int threads);

}  // namespace posteriori::mixture
