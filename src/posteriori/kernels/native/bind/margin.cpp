// Kernel blocks and the pairwise solver of support vector machines.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bind.hpp"
#include "margin/coordinate.hpp"
#include "margin/kernel_rows.hpp"
#include "margin/merge_rows.hpp"
#include "margin/smo.hpp"
#include "margin/votes.hpp"

using namespace posteriori;

namespace {

using NoGil = nb::gil_scoped_release;
using Doubles = InC<double, 1>;
using Starts = InC<std::int64_t, 1>;
using Places = InC<std::int32_t, 1>;

template <typename T> void need_panels(std::size_t n, std::size_t d, std::size_t panels, std::size_t rows, std::size_t width, std::size_t norms) {
    need(width == panel_width<T>() && panels == (n + width - 1) / width && rows == d && norms == panels * width,
         "shapes do not fit: panels and norms are not those of the rows");
}

template <typename T> Packed<T> packed(const InC<T, 2>& a, const InC<T, 1>& a_norms, const InC<T, 3>& panels, const InC<T, 1>& norms, std::size_t n) {
    need_panels<T>(n, a.shape(1), panels.shape(0), panels.shape(1), panels.shape(2), norms.shape(0));
    need(a_norms.shape(0) == a.shape(0), "shapes do not fit: every row has a norm");
    return {panels.data(), norms.data(), n, panels.shape(1)};
}

KernelSpec spec_of(int kind, double scale, double shift, int degree) {
    need(kind >= 0 && kind <= static_cast<int>(KernelKind::manhattan), "no such kernel");
    return {static_cast<KernelKind>(kind), scale, shift, degree};
}

void need_slots(const InC<long long, 1>& slot, std::size_t count, std::size_t rows) {
    need(slot.shape(0) == count, "shapes do not fit: every row has a slot");
    for (std::size_t i = 0; i < count; ++i)
        need(slot.data()[i] >= 0 && static_cast<std::size_t>(slot.data()[i]) < rows, "shapes do not fit: a slot is outside the rows");
}

template <typename T> void bind_for(nb::module_& m) {
    m.def(
        "pack_rows",
        [](InC<T, 2> rows, OutC<T, 3> panels, OutC<T, 1> norms, int threads) {
            need_panels<T>(rows.shape(0), rows.shape(1), panels.shape(0), panels.shape(1), panels.shape(2), norms.shape(0));
            NoGil release;
            pack_rows(rows.data(), rows.shape(0), rows.shape(1), panels.data(), norms.data(), threads);
        },
        nb::arg("rows").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(), nb::arg("threads"));
    m.def(
        "kernel_rows",
        [](int kind, double scale, double shift, int degree, InC<T, 2> a, InC<T, 1> a_norms, InC<T, 3> panels,
           InC<T, 1> norms, OutC<T, 2> out, InC<long long, 1> slot, std::size_t n, int threads) {
            const auto spec = spec_of(kind, scale, shift, degree);
            const auto b = packed<T>(a, a_norms, panels, norms, n);
            need(out.shape(1) >= n, "shapes do not fit: out is narrower than b");
            need_slots(slot, a.shape(0), out.shape(0));
            NoGil release;
            kernel_rows(spec, a.data(), a_norms.data(), a.shape(0), b, out.data(), out.shape(1), slot.data(), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("a").noconvert(),
        nb::arg("a_norms").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(),
        nb::arg("out").noconvert(), nb::arg("slot").noconvert(), nb::arg("n"), nb::arg("threads"));
    m.def(
        "kernel_square",
        [](int kind, double scale, double shift, int degree, InC<T, 2> rows, InC<T, 3> panels, InC<T, 1> norms,
           OutC<T, 2> out, int threads) {
            const auto spec = spec_of(kind, scale, shift, degree);
            const std::size_t n = rows.shape(0);
            need_panels<T>(n, rows.shape(1), panels.shape(0), panels.shape(1), panels.shape(2), norms.shape(0));
            need(out.shape(0) >= n && out.shape(1) >= n, "shapes do not fit: out is smaller than the square");
            NoGil release;
            kernel_square(spec, rows.data(), Packed<T>{panels.data(), norms.data(), n, rows.shape(1)}, out.data(),
                          out.shape(1), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("rows").noconvert(),
        nb::arg("panels").noconvert(), nb::arg("norms").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "sparse_kernel_rows",
        [](int kind, double scale, double shift, int degree, Starts starts, Places columns, Doubles values, Doubles a_norms,
           Starts b_starts, Places b_at, Doubles b_values, Doubles b_norms, OutC<T, 2> out, InC<long long, 1> slot,
           int threads) {
            const auto spec = spec_of(kind, scale, shift, degree);
            need(spec.kind != KernelKind::manhattan, "no such kernel between sparse rows");
            need(b_starts.shape(0) > 0 && out.shape(1) >= b_norms.shape(0), "shapes do not fit: out is narrower than b");
            need_csr(starts, columns, values, a_norms.shape(0), b_starts.shape(0) - 1);
            need_csr(b_starts, b_at, b_values, b_starts.shape(0) - 1, b_norms.shape(0));
            need_slots(slot, a_norms.shape(0), out.shape(0));
            const SparseColumns b{b_starts.data(), b_at.data(), b_values.data(), b_norms.data(), b_norms.shape(0)};
            NoGil release;
            sparse_kernel_rows(spec, starts.data(), columns.data(), values.data(),
                               a_norms.data(), a_norms.shape(0), b, out.data(), out.shape(1), slot.data(), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("starts").noconvert(),
        nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("a_norms").noconvert(),
        nb::arg("b_starts").noconvert(), nb::arg("b_at").noconvert(), nb::arg("b_values").noconvert(),
        nb::arg("b_norms").noconvert(), nb::arg("out").noconvert(), nb::arg("slot").noconvert(), nb::arg("threads"));
    m.def(
        "kernel_sums",
        [](int kind, double scale, double shift, int degree, InC<T, 2> a, InC<T, 1> a_norms, InC<T, 3> panels,
           InC<T, 1> norms, InC<double, 2> coef, OutC<double, 2> out, std::size_t n, int threads) {
            const auto spec = spec_of(kind, scale, shift, degree);
            const auto b = packed<T>(a, a_norms, panels, norms, n);
            need(coef.shape(1) == n && out.shape(0) == a.shape(0) && out.shape(1) == coef.shape(0),
                 "shapes do not fit: coef is not (sums, n) or out not (rows, sums)");
            NoGil release;
            kernel_sums(spec, a.data(), a_norms.data(), a.shape(0), b, coef.data(), coef.shape(0), out.data(), threads);
        },
        nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("degree"), nb::arg("a").noconvert(),
        nb::arg("a_norms").noconvert(), nb::arg("panels").noconvert(), nb::arg("norms").noconvert(),
        nb::arg("coef").noconvert(), nb::arg("out").noconvert(), nb::arg("n"), nb::arg("threads"));
    m.def(
        "smo_block",
        [](InC<T, 2> K, InC<double, 1> low, InC<double, 1> high, OutC<double, 1> beta, OutC<double, 1> v, double tol,
           std::size_t max_steps) {
            const std::size_t q = K.shape(0);
            need(K.shape(1) == (q + ALIGNED - 1) / ALIGNED * ALIGNED, "shapes do not fit: K is (q, q) with its rows padded to eights");
            need(low.shape(0) == q && high.shape(0) == q && beta.shape(0) == q && v.shape(0) == q,
                 "shapes do not fit: a vector is not as long as K");
            need(q <= MOST_IN_LANES<T>, "a block has at most 2²⁴ variables in float");
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
        "smo_machines",
        [](InC<T, 2> K, Starts starts, Starts rows, Doubles p, Doubles low, Doubles high, double tol, std::size_t max_steps,
           OutC<double, 1> beta, OutC<double, 1> v, OutC<double, 2> ends, int threads) {
            const std::size_t n = K.shape(0), all = rows.shape(0);
            need(K.shape(1) == (n + ALIGNED - 1) / ALIGNED * ALIGNED, "shapes do not fit: K is (n, n) with its rows padded to eights");
            need(n <= MOST_IN_LANES<T>, "a block has at most 2²⁴ variables in float");
            need(starts.shape(0) > 0 && ends.shape(0) == starts.shape(0) - 1 && ends.shape(1) == 5, "shapes do not fit: every machine has an end of five numbers");
            need(starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[ends.shape(0)]) == all, "the machines are not all of the rows");
            for (std::size_t k = 0; k < ends.shape(0); ++k) need(starts.data()[k] <= starts.data()[k + 1], "the starts of the machines fall");
            need(p.shape(0) == all && low.shape(0) == all && high.shape(0) == all && beta.shape(0) == all && v.shape(0) == all,
                 "shapes do not fit: a vector is not as long as the rows");
            for (std::size_t i = 0; i < all; ++i)
                need(rows.data()[i] >= 0 && static_cast<std::size_t>(rows.data()[i]) < n, "a row is outside K");
            const Machines machines{ends.shape(0), starts.data(), rows.data(), p.data(), low.data(), high.data()};
            static_assert(sizeof(MachineEnd) == 5 * sizeof(double));
            NoGil release;
            smo_machines(K.data(), n, K.shape(1), machines, tol, max_steps, beta.data(), v.data(),
                         reinterpret_cast<MachineEnd*>(ends.data()), threads);
        },
        nb::arg("K").noconvert(), nb::arg("starts").noconvert(), nb::arg("rows").noconvert(), nb::arg("p").noconvert(),
        nb::arg("low").noconvert(), nb::arg("high").noconvert(), nb::arg("tol"), nb::arg("max_steps"),
        nb::arg("beta").noconvert(), nb::arg("v").noconvert(), nb::arg("ends").noconvert(), nb::arg("threads"));
    m.def(
        "subtract_rows",
        [](InC<T, 2> rows, InC<long long, 1> slot, InC<double, 1> step, OutC<double, 1> v, int threads) {
            need(v.shape(0) <= rows.shape(1), "shapes do not fit: v is longer than a row");
            need_slots(slot, step.shape(0), rows.shape(0));
            NoGil release;
            subtract_rows(rows.data(), rows.shape(1), slot.data(), step.data(), slot.shape(0), v.data(), v.shape(0), threads);
        },
        nb::arg("rows").noconvert(), nb::arg("slot").noconvert(), nb::arg("step").noconvert(), nb::arg("v").noconvert(),
        nb::arg("threads"));
}

}  // namespace

void need_csr(const Starts& starts, const Places& columns, const Doubles& values, std::size_t n, std::size_t d) {
    need(starts.shape(0) == n + 1 && values.shape(0) == columns.shape(0), "shapes do not fit: no CSR matrix");
    const auto* start = starts.data();
    for (std::size_t i = 0; i < n; ++i) need(start[i] >= 0 && start[i] <= start[i + 1], "the starts of the rows fall");
    need(static_cast<std::size_t>(start[n]) <= columns.shape(0), "the rows reach beyond the stored cells");
    need(within(columns.data() + start[0], static_cast<std::size_t>(start[n] - start[0]), d), "a column is outside X");
}

void bind_margin(nb::module_& m) {
    m.def(
        "merge_rows",
        [](InC<double, 2> X, Doubles target, Doubles weight, InC<double, 2> directions, OutC<std::int64_t, 1> first,
           OutC<double, 1> total, OutC<std::int64_t, 1> group, OutC<double, 1> share) {
            const std::size_t n = X.shape(0);
            need(target.shape(0) == n && weight.shape(0) == n && first.shape(0) == n && total.shape(0) == n &&
                     group.shape(0) == n && share.shape(0) == n,
                 "shapes do not fit: every row has a target, a weight and a group");
            need(directions.shape(0) == 2 && directions.shape(1) == X.shape(1), "shapes do not fit: directions are not (2, columns)");
            NoGil release;
            return merge_rows(X.data(), n, X.shape(1), target.data(), weight.data(), directions.data(), first.data(),
                              total.data(), group.data(), share.data());
        },
        nb::arg("X").noconvert(), nb::arg("target").noconvert(), nb::arg("weight").noconvert(),
        nb::arg("directions").noconvert(), nb::arg("first").noconvert(), nb::arg("total").noconvert(),
        nb::arg("group").noconvert(), nb::arg("share").noconvert());
    m.def(
        "pair_votes",
        [](InC<double, 2> decisions, OutC<double, 2> out) {
            const std::size_t classes = out.shape(1);
            need(decisions.shape(0) == out.shape(0) && decisions.shape(1) == classes * (classes - 1) / 2,
                 "shapes do not fit: decisions are not (rows, pairs of classes)");
            NoGil release;
            pair_votes(decisions.data(), out.shape(0), classes, out.data());
        },
        nb::arg("decisions").noconvert(), nb::arg("out").noconvert());
    m.def("panel_width", [](bool single) { return single ? panel_width<float>() : panel_width<double>(); });
    bind_for<float>(m);
    bind_for<double>(m);
}
