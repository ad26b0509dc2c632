// Kernel blocks and the pairwise solver of support vector machines. Shapes are checked in kernels/margin.py.
#include <nanobind/stl/pair.h>

#include "bind.hpp"
#include "kernel_rows.hpp"
#include "smo.hpp"

using namespace posteriori;

namespace {

using NoGil = nb::gil_scoped_release;

template <typename T> Packed<T> packed(const InC<T, 3>& panels, const InC<T, 1>& norms, std::size_t n) {
    return {panels.data(), norms.data(), n, panels.shape(1)};
}

KernelSpec spec_of(int kind, double scale, double shift, int degree) {
    return {static_cast<KernelKind>(kind), scale, shift, degree};
}

template <typename T> void bind_for(nb::module_& m) {
    m.def(
        "pack_rows",
        [](InC<T, 2> rows, OutC<T, 3> panels, OutC<T, 1> norms, int threads) {
            NoGil release;
            pack_rows(rows.data(), rows.shape(0), rows.shape(1), panels.data(), norms.data(), threads);
        },
        nb::arg("rows").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(), nb::arg("threads"));
    m.def(
        "kernel_rows",
        [](int kind, double scale, double shift, int degree, InC<T, 2> a, InC<T, 1> a_norms, InC<T, 3> panels,
           InC<T, 1> norms, OutC<T, 2> out, InC<long long, 1> slot, std::size_t n, int threads) {
            NoGil release;
            kernel_rows(spec_of(kind, scale, shift, degree), a.data(), a_norms.data(), a.shape(0), packed(panels, norms, n),
                        out.data(), out.shape(1), slot.data(), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("a").noconvert(),
        nb::arg("a_norms").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(),
        nb::arg("out").noconvert(), nb::arg("slot").noconvert(), nb::arg("n"), nb::arg("threads"));
    m.def(
        "kernel_sums",
        [](int kind, double scale, double shift, int degree, InC<T, 2> a, InC<T, 1> a_norms, InC<T, 3> panels,
           InC<T, 1> norms, InC<double, 2> coef, OutC<double, 2> out, int threads) {
            NoGil release;
            kernel_sums(spec_of(kind, scale, shift, degree), a.data(), a_norms.data(), a.shape(0),
                        packed(panels, norms, coef.shape(1)), coef.data(), coef.shape(0), out.data(), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("a").noconvert(),
        nb::arg("a_norms").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(),
        nb::arg("coef").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "smo_block",
        [](InC<T, 2> K, InC<double, 1> low, InC<double, 1> high, OutC<double, 1> beta, OutC<double, 1> v, double tol,
           std::size_t max_steps) {
            SmoEnd end;
            {
                NoGil release;
                end = smo_block(K.data(), K.shape(0), K.shape(1), low.data(), high.data(), beta.data(), v.data(), tol, max_steps);
            }
            return std::make_pair(end.steps, end.gap);
        },
        nb::arg("K").noconvert(), nb::arg("low").noconvert(), nb::arg("high").noconvert(), nb::arg("beta").noconvert(),
        nb::arg("v").noconvert(), nb::arg("tol"), nb::arg("max_steps"));
    m.def(
        "subtract_rows",
        [](InC<T, 2> rows, InC<long long, 1> slot, InC<double, 1> step, OutC<double, 1> v, int threads) {
            NoGil release;
            subtract_rows(rows.data(), rows.shape(1), slot.data(), step.data(), slot.shape(0), v.data(), v.shape(0), threads);
        },
        nb::arg("rows").noconvert(), nb::arg("slot").noconvert(), nb::arg("step").noconvert(), nb::arg("v").noconvert(),
        nb::arg("threads"));
}

}  // namespace

void bind_margin(nb::module_& m) {
    m.def("panel_width", [](bool single) { return single ? panel_width<float>() : panel_width<double>(); });
    bind_for<float>(m);
    bind_for<double>(m);
}
