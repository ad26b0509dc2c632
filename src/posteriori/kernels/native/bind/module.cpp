// The module: every room of kernels binds its own functions here. Only the files of this folder know Python.
#include <nanobind/nanobind.h>

#include "bind.hpp"
#include "threads.hpp"

static PyObject* called_off = nullptr;  // asked on any thread of Python's; signals come to the first alone
static PyObject *count_threads = nullptr, *refuse = nullptr;

void look_at_signals() {
    if (!PyGILState_GetThisThreadState()) return;  // a thread that Python has never met
    nb::gil_scoped_acquire hold;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (called_off) nb::borrow(called_off)();
}

int team(nb::handle n_jobs, std::size_t work, std::size_t grain) {
    const bool plain = n_jobs.is_none() || (PyLong_CheckExact(n_jobs.ptr()) && PyObject_IsTrue(n_jobs.ptr()));
    return work < 2 * grain && plain ? 1 : nb::cast<int>(nb::borrow(count_threads)(n_jobs, work, grain));
}

void refuse_over(nb::handle max_memory, double bytes, const std::string& what, const char* way_out) {
    nb::borrow(refuse)(max_memory, bytes, what.c_str(), way_out);
}

PyObject* type_named(const char* name) { return nb::object(nb::module_::import_("numpy").attr("dtype")(name)).release().ptr(); }

void* new_array(nb::object& array, std::initializer_list<std::size_t> shape, PyObject* type, bool zeros) {
    static PyObject* const makers[] = {nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr(),
                                       nb::object(nb::module_::import_("numpy").attr("zeros")).release().ptr()};
    const nb::object axes = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    Py_ssize_t at = 0;
    for (const std::size_t length : shape) PyTuple_SET_ITEM(axes.ptr(), at++, PyLong_FromSize_t(length));
    PyObject* args[] = {axes.ptr(), type};
    array = nb::steal(PyObject_Vectorcall(makers[zeros], args, 2, nullptr));
    Py_buffer view;
    if (!array || PyObject_GetBuffer(array.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    void* const data = view.buf;
    PyBuffer_Release(&view);
    return data;
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
    m.def("begin", [](nb::callable ask, nb::callable n_threads, nb::callable refuse_over) {
        called_off = ask.release().ptr(), count_threads = n_threads.release().ptr(), refuse = refuse_over.release().ptr();
    });
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
