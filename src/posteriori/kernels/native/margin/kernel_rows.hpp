// Blocks of a kernel matrix K(a_i, b_j) = φ(s_ij), s an inner product, a squared distance or a 1-norm distance.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori {

enum class KernelKind { dot = 0, polynomial = 1, sigmoid = 2, rbf = 3, distance = 4, manhattan = 5 };

// dot: scale·xᵀz + shift; polynomial: (scale·xᵀz + shift)^degree; sigmoid: tanh(scale·xᵀz + shift);
// rbf: exp(−scale·‖x−z‖²); distance: exp(−scale·‖x−z‖); manhattan: exp(−scale·‖x−z‖₁)
struct KernelSpec {
    KernelKind kind;
    double scale, shift;
    int degree;
};

// Rows b_j as the block kernels read them: panels of panel_width<T>() rows, feature by feature, the last padded with zeros;
// norms[j] = ‖b_j‖², summed in the very order of the inner products, so that equal rows are at distance 0 exactly.
template <typename T> struct Packed {
    const T* panels;
    const T* norms;
    std::size_t n, d;
};
template <typename T> std::size_t panel_width();
template <typename T> void pack_rows(const T* rows, std::size_t n, std::size_t d, T* panels, T* norms, int threads);

// out[slot[i]·stride + j] = K(a_i, b_j)
template <typename T>
void kernel_rows(KernelSpec spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, T* out, std::size_t stride,
                 const long long* slot, int threads);

// out[i·stride + j] = K(b_i, b_j), one half computed and mirrored; `rows` are the rows of b
template <typename T>
void kernel_square(KernelSpec spec, const T* rows, Packed<T> b, T* out, std::size_t stride, int threads);

// The rows of a sparse table, by columns: column f holds values[starts[f] .. starts[f+1]) in rows `at`.
struct SparseColumns {
    const std::int64_t* starts;
    const std::int32_t* at;
    const double* values;
    const double* norms;  // ‖x_j‖² of each row
    std::size_t n;
};

// out[slot[i]·stride + j] = K(a_i, b_j) for sparse rows a_i: columns[starts[i] .. starts[i+1]) and their values.
// There is no sparse "manhattan".
template <typename T>
void sparse_kernel_rows(KernelSpec spec, const std::int64_t* starts, const std::int32_t* columns, const double* values,
                        const double* a_norms, std::size_t m, SparseColumns b, T* out, std::size_t stride,
                        const long long* slot, int threads);

// out[i·k + c] += Σ_j K(a_i, b_j) coef[c·n + j], summed in double
template <typename T>
void kernel_sums(KernelSpec spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, const double* coef,
                 std::size_t k, double* out, int threads);

}  // namespace posteriori
