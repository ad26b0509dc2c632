// Kernel blocks and the pairwise solver of support vector machines. Shapes are checked in kernels/margin.py.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bind.hpp"
#include "margin/coordinate.hpp"
#include "margin/kernel_rows.hpp"
#include "margin/smo.hpp"

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

using Doubles = InC<double, 1>;

// One epoch for rows of either kind; the four constants and the three arrays that change, as `Descent` names them.
template <typename Rows>
std::tuple<std::size_t, double, double> epoch(const Rows& rows, Doubles y, Doubles upper, Doubles ridge, Doubles curvature,
                                              double bias, OutC<double, 1> alpha, OutC<double, 1> w,
                                              OutC<std::int64_t, 1> order, std::size_t active, double top, double bottom,
                                              std::uint64_t seed) {
    const Descent state{y.data(), upper.data(), ridge.data(), curvature.data(), bias, alpha.data(), w.data(), order.data()};
    NoGil release;
    const Epoch end = descend(rows, state, {active, top, bottom}, seed);
    return {end.active, end.top, end.bottom};
}

}  // namespace

void bind_margin(nb::module_& m) {
    m.def("panel_width", [](bool single) { return single ? panel_width<float>() : panel_width<double>(); });
    bind_for<float>(m);
    bind_for<double>(m);
    m.def(
        "descend_dense",
        [](InC<double, 2> X, Doubles y, Doubles upper, Doubles ridge, Doubles curvature, double bias, OutC<double, 1> alpha,
           OutC<double, 1> w, OutC<std::int64_t, 1> order, std::size_t active, double top, double bottom,
           std::uint64_t seed) {
            return epoch(DenseRows{X.data(), X.shape(1)}, y, upper, ridge, curvature, bias, alpha, w, order, active, top,
                         bottom, seed);
        },
        nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("active"), nb::arg("top"), nb::arg("bottom"), nb::arg("seed"));
    m.def(
        "descend_sparse",
        [](InC<std::int64_t, 1> starts, InC<std::int32_t, 1> columns, Doubles values, Doubles y, Doubles upper,
           Doubles ridge, Doubles curvature, double bias, OutC<double, 1> alpha, OutC<double, 1> w,
           OutC<std::int64_t, 1> order, std::size_t active, double top, double bottom, std::uint64_t seed) {
            return epoch(SparseRows{starts.data(), columns.data(), values.data(), w.shape(0) - 1}, y, upper, ridge,
                         curvature, bias, alpha, w, order, active, top, bottom, seed);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
        nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("active"), nb::arg("top"), nb::arg("bottom"), nb::arg("seed"));
}
