// What the binding files share: array types that never convert silently, the guard of their shapes, the list of the rooms.
//
// A kernel trusts its arguments; the bindings do not. Whatever a caller passes, it gets an exception and never a read or a
// write outside an array.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace nb = nanobind;

// Throws what a signal's handler raised, KeyboardInterrupt, or what the thread's own owner has called off.
void look_at_signals();

inline void need(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

void bind_naive(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_labels(nb::module_& m);
void bind_densities(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_families(nb::module_& m);
void bind_parents(nb::module_& m);
void bind_margin(nb::module_& m);
void bind_mixture(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_network(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_members(nb::module_& m);
void bind_boosting(nb::module_& m);

// A read-only array of any strides, and a C-contiguous one. Bind every argument with .noconvert().
template <typename T, int D> using In = nb::ndarray<const T, nb::ndim<D>, nb::device::cpu>;
template <typename T, int D> using InC = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <typename T, int D> using OutC = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

// Networks: lists laid end to end in `items`, list i from offsets[i] to offsets[i + 1], entries in 0 … limit−1; and numbers
// of states, at least one each.
std::vector<std::vector<int>> lists_of(const InC<std::int64_t, 1>& offsets, const InC<std::int32_t, 1>& items, std::size_t limit);
std::vector<int> sizes_of(const InC<std::int32_t, 1>& sizes);

// Margins: rows of a CSR matrix that begin and end where they should, with columns in 0 … d−1.
void need_csr(const InC<std::int64_t, 1>& starts, const InC<std::int32_t, 1>& columns, const InC<double, 1>& values,
              std::size_t n, std::size_t d);
