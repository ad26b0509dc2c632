// The module: every room of kernels binds its own functions here. Only the files of this folder know Python.
#include <nanobind/nanobind.h>

#include "bind.hpp"
#include "threads.hpp"

static PyObject* called_off = nullptr;  // asked on any thread of Python's; signals come to the first alone

void look_at_signals() {
    if (!PyGILState_GetThisThreadState()) return;  // a thread that Python has never met
    nb::gil_scoped_acquire hold;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (called_off) nb::borrow(called_off)();
}

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
    posteriori::ask_between_tasks = look_at_signals;
    m.def("ask", [](nb::callable call) { called_off = call.release().ptr(); }, nb::arg("call"));
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
