// The module: every room of kernels binds its own functions here. Only the files of this folder know Python.
#include <nanobind/nanobind.h>

#include "bind.hpp"

NB_MODULE(POSTERIORI_MODULE, m) {
    m.def("supports_avx2", [] {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
        return static_cast<bool>(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                 __builtin_cpu_supports("bmi2"));
#else
        return false;
#endif
    });
    nb::set_leak_warnings(false);  // a model may live as long as the interpreter
    bind_naive(m);
    bind_sparse(m);
    bind_labels(m);
    bind_densities(m);
    bind_pairs(m);
    bind_families(m);
    bind_parents(m);
    bind_margin(m);
    bind_mixture(m);
    bind_linear(m);
    bind_neighbors(m);
    bind_network(m);
    bind_sampling(m);
    bind_trees(m);
    bind_members(m);
    bind_boosting(m);
}
