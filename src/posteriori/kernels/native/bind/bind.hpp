// What the binding files share: array types that never convert silently, the guard of their shapes, the list of the rooms.
//
// A kernel trusts its arguments; the bindings do not. Whatever a caller passes, it gets an exception and never a read or a
// write outside an array.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nb = nanobind;

// Throws what a signal's handler raised, KeyboardInterrupt, or what the thread's own owner has called off.
void look_at_signals();

// Threads for a call of so many elementary steps, as `kernels.n_threads` says; small work does not ask it.
int team(nb::handle n_jobs, std::size_t work, std::size_t grain = 200'000);

// `posteriori.budget.refuse_over`: what would take so many bytes is refused by MemoryBudgetError.
void refuse_over(nb::handle max_memory, double bytes, const std::string& what, const char* way_out);

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
using AnyC = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;  // of any number of axes

// How arguments are bound: arrays as they are, never converted; arrays that may be None, and are unless given; `n_jobs`. What
// is bound by nb::arg alone is converted where its type, or its order in memory, is another.
inline auto as_is(const char* name) { return nb::arg(name).noconvert(); }
inline auto maybe(const char* name) { return nb::arg(name).noconvert().none() = nb::none(); }
inline auto jobs() { return nb::arg("n_jobs") = nb::none(); }

// What work gives, other threads of Python running meanwhile.
template <typename Work> auto without_gil(const Work& work) {
    const nb::gil_scoped_release release;
    return work();
}

// A new NumPy array, and its numbers. It is NumPy that makes it: a capsule would take some microseconds, longer than a row.
template <typename T> struct New {
    nb::object array;
    T* data;
};
void* new_array(nb::object& array, std::initializer_list<std::size_t> shape, PyObject* type, bool zeros);
PyObject* type_named(const char* name);
template <typename T> constexpr const char* type_name() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    else if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 8 ? "float64" : "float32";
    else if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 ? "int64" : sizeof(T) == 4 ? "int32" : sizeof(T) == 2 ? "int16" : "int8";
    else return sizeof(T) == 8 ? "uint64" : sizeof(T) == 4 ? "uint32" : sizeof(T) == 2 ? "uint16" : "uint8";
}
template <typename T> New<T> empty(std::initializer_list<std::size_t> shape, bool zeros = false) {
    static PyObject* const type = type_named(type_name<T>());
    New<T> made;
    made.data = static_cast<T*>(new_array(made.array, shape, type, zeros));
    return made;
}
template <typename T> New<T> zeros(std::initializer_list<std::size_t> shape) { return empty<T>(shape, true); }

// A vector becomes a NumPy array that owns it, without a copy.
template <typename T, typename A> nb::object owned(std::vector<T, A>&& data, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T, A>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, A>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

// An array that is changed in place and given back.
template <typename Array> Array in_place(nb::handle given) {
    Array array;
    if (!nb::try_cast(given, array, false)) throw nb::next_overload();
    return array;
}

// Networks: entries of the lists are in 0 … limit−1, a node has one state at least.
void need_lists(const std::vector<std::vector<int>>& lists, std::size_t limit);
void need_sizes(const std::vector<int>& sizes);

// Margins: a CSR matrix of int64 starts, int32 columns and float64 values, as SciPy has its parts.
struct Csr {
    InC<std::int64_t, 1> starts;
    InC<std::int32_t, 1> columns;
    InC<double, 1> values;
    Csr(InC<std::int64_t, 1> starts_, InC<std::int32_t, 1> columns_, InC<double, 1> values_) : starts(starts_), columns(columns_), values(values_) {}
    explicit Csr(nb::handle X) {
        if (!nb::try_cast(X.attr("indptr"), starts, false) || !nb::try_cast(X.attr("indices"), columns, false) || !nb::try_cast(X.attr("data"), values, false))
            throw nb::next_overload();
    }
};

// Rows that begin and end where they should, with columns in 0 … d−1.
void need_csr(const Csr& rows, std::size_t n, std::size_t d);
