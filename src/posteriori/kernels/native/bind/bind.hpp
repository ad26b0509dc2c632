// What the binding files share: array types that never convert silently, and the list of the rooms.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

void bind_naive(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_parents(nb::module_& m);
void bind_margin(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_network(nb::module_& m);
void bind_sampling(nb::module_& m);

// A read-only array of any strides, and a C-contiguous one. Bind every argument with .noconvert().
template <typename T, int D> using In = nb::ndarray<const T, nb::ndim<D>, nb::device::cpu>;
template <typename T, int D> using InC = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <typename T, int D> using OutC = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
