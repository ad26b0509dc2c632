// One turn of EM for a Gaussian mixture, in one pass over the rows; `tests/kernels/reference/mixture.py` states what is computed.
#pragma once
#include <cstddef>

namespace posteriori::mixture {

// Components in the model's units. `factors` are upper triangular (K, d, d) where `full`, else (K, d).
struct Components {
    std::size_t K, d;
    bool full;
    const double *unit, *means, *factors, *log_weights;
};

// log π_k + log N(x_n; k), shape (n, K).
template <typename T> void log_joint(const T* X, std::size_t n, const Components& theta, double* out, int threads);

// ℓ is returned; N (K), S (K, d) and Q (K, d, d) or (K, d) are written, around `pivots` (K, d). `weights` (n) and `shares`
// (n, K) may be null. Sums are made in parts that depend on the shapes alone and are added up in their order.
template <typename T>
double sums(const T* X, std::size_t n, const double* weights, const Components& theta, const double* pivots,
            const double* shares, double* N, double* S, double* Q, int threads);

}  // namespace posteriori::mixture
