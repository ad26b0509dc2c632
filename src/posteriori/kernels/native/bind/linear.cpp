// Linear margins: sums over rows, dense or sparse, conjugate gradients and dual coordinate descent.
#include <nanobind/stl/tuple.h>

#include "bind.hpp"
#include "margin/coordinate.hpp"
#include "margin/ridge.hpp"
#include "threads.hpp"

using namespace posteriori;

namespace {

using NoGil = nb::gil_scoped_release;
using Doubles = InC<double, 1>;
using Starts = InC<std::int64_t, 1>;
using Places = InC<std::int32_t, 1>;

void need_rows(const std::int64_t* rows, std::size_t count, std::size_t n) {
    for (std::size_t s = 0; s < count; ++s)
        need(rows[s] >= 0 && static_cast<std::size_t>(rows[s]) < n, "the order names a row that is not there");
}

// The four constants and the three arrays that change, as `Descent` names them.
Descent descent(std::size_t n, std::size_t d, Doubles y, Doubles upper, Doubles ridge, Doubles curvature, double bias,
                OutC<double, 1> alpha, OutC<double, 1> w, OutC<std::int64_t, 1> order, std::size_t active) {
    for (const auto* v : {&y, &upper, &ridge, &curvature}) need(v->shape(0) == n, "shapes do not fit: a vector is not as long as X");
    need(alpha.shape(0) == n && order.shape(0) == n && active <= n && w.shape(0) == d + 1,
         "shapes do not fit: alpha, order, active or w are not those of X");
    need_rows(order.data(), active, n);
    return {y.data(), upper.data(), ridge.data(), curvature.data(), bias, alpha.data(), w.data(), order.data()};
}

template <typename Rows>
std::tuple<std::size_t, double, double> epoch(const Rows& rows, const Descent& state, Epoch last, std::uint64_t seed) {
    NoGil release;
    const Epoch end = descend(rows, state, last, seed);
    return {end.active, end.top, end.bottom};
}

// Sums over rows of either kind; `w` may be empty in row_sums.
template <typename Rows> void dots(const Rows& rows, std::size_t n, double bias, Doubles w, OutC<double, 1> out, int threads) {
    NoGil release;
    row_dots(rows, n, bias, w.data(), out.data(), threads);
}

template <typename Rows>
void sums(const Rows& rows, double bias, Doubles weight, Doubles w, OutC<double, 1> out, int threads) {
    NoGil release;
    row_sums(rows, weight.shape(0), bias, weight.data(), w.shape(0) ? w.data() : nullptr, out.data(), threads);
}

template <typename Rows> void squares(const Rows& rows, double bias, Doubles weight, OutC<double, 1> out, int threads) {
    NoGil release;
    row_squares(rows, weight.shape(0), bias, weight.data(), out.data(), threads);
}

template <typename Rows>
std::size_t steps_of(const Rows& rows, double bias, Doubles weight, Doubles scale, OutC<double, 1> out, OutC<double, 1> rest,
                     OutC<double, 1> along, double enough, std::size_t max_steps, int threads) {
    for (std::size_t size : {scale.shape(0), out.shape(0), rest.shape(0), along.shape(0)})
        need(size == rows.d + 1, "shapes do not fit: a vector is not as wide as X");
    NoGil release;
    return conjugate(rows, weight.shape(0), bias, weight.data(), scale.data(), {out.data(), rest.data(), along.data()}, enough,
                     max_steps, threads);
}

// Every model over rows of its own, a thread each; Ctrl-C ends them all.
void ridge_folds(InC<double, 2> points, InC<std::uint32_t, 1> y, Doubles weights, Places rows, Starts ends, Doubles offset,
                 Doubles charge, InC<double, 2> metric, OutC<double, 3> B, OutC<double, 1> loss, std::size_t steps, double tol,
                 int threads) {
    const std::size_t n = points.shape(0), f = points.shape(1), M = B.shape(0), C = B.shape(1);
    need(y.shape(0) == n && weights.shape(0) == n, "shapes do not fit: a class and a weight a row are needed");
    need(C > 0 && B.shape(2) == f + 1 && loss.shape(0) == M && offset.shape(0) == C && charge.shape(0) == f + 1 &&
             metric.shape(0) == C && metric.shape(1) == f + 1, "shapes do not fit: B, metric, charge or offset are not those of the points");
    need(ends.shape(0) == M + 1 && ends.data()[0] == 0 && ends.data()[M] == static_cast<std::int64_t>(rows.shape(0)),
         "the rows of the models lie end to end");
    for (std::size_t m = 0; m < M; ++m) need(ends.data()[m] < ends.data()[m + 1], "a model has rows");
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        need(rows.data()[i] >= 0 && static_cast<std::size_t>(rows.data()[i]) < n, "a model names a row that is not there");
    const std::uint32_t K = C == 1 ? 2 : static_cast<std::uint32_t>(C);
    for (std::size_t r = 0; r < n; ++r) need(y.data()[r] < K, "no such class");
    const RidgeTask task{points.data(), f, C, y.data(), weights.data(), offset.data(), charge.data(), metric.data(), steps, tol};
    NoGil release;
    Watch watch(look_at_signals);
    parallel_for(M, threads, [&](std::size_t m) {
        const std::int64_t *at = ends.data() + m, count = at[1] - at[0];
        loss.data()[m] = ridge_descend(task, rows.data() + at[0], static_cast<std::size_t>(count), B.data() + m * C * (f + 1), watch);
    });
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("ridge_folds", &ridge_folds, nb::arg("points").noconvert(), nb::arg("y").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("ends").noconvert(), nb::arg("offset").noconvert(), nb::arg("charge").noconvert(),
          nb::arg("metric").noconvert(), nb::arg("B").noconvert(), nb::arg("loss").noconvert(), nb::arg("steps"), nb::arg("tol"),
          nb::arg("threads"));
    m.def(
        "row_dots_sparse",
        [](Starts starts, Places columns, Doubles values, double bias, Doubles w, OutC<double, 1> out, int threads) {
            need(w.shape(0) > 0, "shapes do not fit: no CSR matrix");
            need_csr(starts, columns, values, out.shape(0), w.shape(0) - 1);
            dots(SparseRows{starts.data(), columns.data(), values.data(), w.shape(0) - 1}, out.shape(0), bias, w, out, threads);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("bias"),
        nb::arg("w").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "row_dots_dense",
        [](InC<double, 2> X, double bias, Doubles w, OutC<double, 1> out, int threads) {
            need(w.shape(0) == X.shape(1) + 1 && out.shape(0) == X.shape(0), "shapes do not fit: w or out is not that of X");
            dots(DenseRows{X.data(), X.shape(1)}, X.shape(0), bias, w, out, threads);
        },
        nb::arg("X").noconvert(), nb::arg("bias"), nb::arg("w").noconvert(), nb::arg("out").noconvert(),
        nb::arg("threads"));
    m.def(
        "row_sums_sparse",
        [](Starts starts, Places columns, Doubles values, double bias, Doubles weight, Doubles w, OutC<double, 1> out,
           int threads) {
            need(out.shape(0) > 0 && (!w.shape(0) || w.shape(0) == out.shape(0)), "shapes do not fit: w or out is not that of X");
            need_csr(starts, columns, values, weight.shape(0), out.shape(0) - 1);
            sums(SparseRows{starts.data(), columns.data(), values.data(), out.shape(0) - 1}, bias, weight, w, out, threads);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("bias"),
        nb::arg("weight").noconvert(), nb::arg("w").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "row_sums_dense",
        [](InC<double, 2> X, double bias, Doubles weight, Doubles w, OutC<double, 1> out, int threads) {
            need(weight.shape(0) == X.shape(0) && out.shape(0) == X.shape(1) + 1 && (!w.shape(0) || w.shape(0) == out.shape(0)),
                 "shapes do not fit: weight, w or out is not that of X");
            sums(DenseRows{X.data(), X.shape(1)}, bias, weight, w, out, threads);
        },
        nb::arg("X").noconvert(), nb::arg("bias"), nb::arg("weight").noconvert(), nb::arg("w").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "row_squares_sparse",
        [](Starts starts, Places columns, Doubles values, double bias, Doubles weight, OutC<double, 1> out, int threads) {
            need(out.shape(0) > 0, "shapes do not fit: no CSR matrix");
            need_csr(starts, columns, values, weight.shape(0), out.shape(0) - 1);
            squares(SparseRows{starts.data(), columns.data(), values.data(), out.shape(0) - 1}, bias, weight, out, threads);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("bias"),
        nb::arg("weight").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "row_squares_dense",
        [](InC<double, 2> X, double bias, Doubles weight, OutC<double, 1> out, int threads) {
            need(weight.shape(0) == X.shape(0) && out.shape(0) == X.shape(1) + 1, "shapes do not fit: weight or out is not that of X");
            squares(DenseRows{X.data(), X.shape(1)}, bias, weight, out, threads);
        },
        nb::arg("X").noconvert(), nb::arg("bias"), nb::arg("weight").noconvert(), nb::arg("out").noconvert(),
        nb::arg("threads"));
    m.def(
        "conjugate_sparse",
        [](Starts starts, Places columns, Doubles values, double bias, Doubles weight, Doubles scale, OutC<double, 1> out,
           OutC<double, 1> rest, OutC<double, 1> along, double enough, std::size_t max_steps, int threads) {
            need(out.shape(0) > 0, "shapes do not fit: no CSR matrix");
            need_csr(starts, columns, values, weight.shape(0), out.shape(0) - 1);
            return steps_of(SparseRows{starts.data(), columns.data(), values.data(), out.shape(0) - 1}, bias, weight, scale, out,
                            rest, along, enough, max_steps, threads);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("bias"),
        nb::arg("weight").noconvert(), nb::arg("scale").noconvert(), nb::arg("out").noconvert(), nb::arg("rest").noconvert(),
        nb::arg("along").noconvert(), nb::arg("enough"), nb::arg("max_steps"), nb::arg("threads"));
    m.def(
        "conjugate_dense",
        [](InC<double, 2> X, double bias, Doubles weight, Doubles scale, OutC<double, 1> out, OutC<double, 1> rest,
           OutC<double, 1> along, double enough, std::size_t max_steps, int threads) {
            need(weight.shape(0) == X.shape(0), "shapes do not fit: weight is not that of X");
            return steps_of(DenseRows{X.data(), X.shape(1)}, bias, weight, scale, out, rest, along, enough, max_steps, threads);
        },
        nb::arg("X").noconvert(), nb::arg("bias"), nb::arg("weight").noconvert(), nb::arg("scale").noconvert(),
        nb::arg("out").noconvert(), nb::arg("rest").noconvert(), nb::arg("along").noconvert(), nb::arg("enough"),
        nb::arg("max_steps"), nb::arg("threads"));
    m.def(
        "squared_hinge",
        [](Doubles margin, Doubles slope, Doubles C, double t) {
            need(slope.shape(0) == margin.shape(0) && C.shape(0) == margin.shape(0), "shapes do not fit: margin, slope and C");
            const HingeLine at = squared_hinge(margin.data(), slope.data(), C.data(), margin.shape(0), t);
            return std::make_tuple(at.value, at.first, at.second);
        },
        nb::arg("margin").noconvert(), nb::arg("slope").noconvert(), nb::arg("C").noconvert(), nb::arg("t"));
    m.def(
        "descend_dense",
        [](InC<double, 2> X, Doubles y, Doubles upper, Doubles ridge, Doubles curvature, double bias, OutC<double, 1> alpha,
           OutC<double, 1> w, OutC<std::int64_t, 1> order, std::size_t active, double top, double bottom,
           std::uint64_t seed) {
            const Descent state = descent(X.shape(0), X.shape(1), y, upper, ridge, curvature, bias, alpha, w, order, active);
            return epoch(DenseRows{X.data(), X.shape(1)}, state, {active, top, bottom}, seed);
        },
        nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("active"), nb::arg("top"), nb::arg("bottom"), nb::arg("seed"));
    m.def(
        "descend_sparse",
        [](Starts starts, Places columns, Doubles values, Doubles y, Doubles upper, Doubles ridge, Doubles curvature,
           double bias, OutC<double, 1> alpha, OutC<double, 1> w, OutC<std::int64_t, 1> order, std::size_t active, double top,
           double bottom, std::uint64_t seed) {
            need(starts.shape(0) > 0 && w.shape(0) > 0, "shapes do not fit: no CSR matrix");
            const std::size_t n = starts.shape(0) - 1, d = w.shape(0) - 1;
            if (active == n) need_csr(starts, columns, values, n, d);  // a descent begins with all rows and keeps X
            const Descent state = descent(n, d, y, upper, ridge, curvature, bias, alpha, w, order, active);
            return epoch(SparseRows{starts.data(), columns.data(), values.data(), d}, state, {active, top, bottom}, seed);
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
        nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("active"), nb::arg("top"), nb::arg("bottom"), nb::arg("seed"));
    m.def(
        "free_move_dense",
        [](InC<double, 2> X, Doubles y, Doubles upper, Doubles ridge, Doubles curvature, double bias, OutC<double, 1> alpha,
           OutC<double, 1> w, OutC<std::int64_t, 1> order, Starts free, std::size_t max_steps, OutC<double, 1> move) {
            const Descent state = descent(X.shape(0), X.shape(1), y, upper, ridge, curvature, bias, alpha, w, order, 0);
            need(move.shape(0) == free.shape(0), "shapes do not fit: every free row has a move");
            need_rows(free.data(), free.shape(0), X.shape(0));
            NoGil release;
            free_move(DenseRows{X.data(), X.shape(1)}, state, free.data(), free.shape(0), max_steps, move.data());
        },
        nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("free").noconvert(), nb::arg("max_steps"), nb::arg("move").noconvert());
    m.def(
        "free_move_sparse",
        [](Starts starts, Places columns, Doubles values, Doubles y, Doubles upper, Doubles ridge, Doubles curvature,
           double bias, OutC<double, 1> alpha, OutC<double, 1> w, OutC<std::int64_t, 1> order, Starts free,
           std::size_t max_steps, OutC<double, 1> move) {
            need(starts.shape(0) > 0 && w.shape(0) > 0, "shapes do not fit: no CSR matrix");
            const std::size_t n = starts.shape(0) - 1, d = w.shape(0) - 1;
            need_csr(starts, columns, values, n, d);
            const Descent state = descent(n, d, y, upper, ridge, curvature, bias, alpha, w, order, 0);
            need(move.shape(0) == free.shape(0), "shapes do not fit: every free row has a move");
            need_rows(free.data(), free.shape(0), n);
            NoGil release;
            free_move(SparseRows{starts.data(), columns.data(), values.data(), d}, state, free.data(), free.shape(0), max_steps,
                      move.data());
        },
        nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
        nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("curvature").noconvert(), nb::arg("bias"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
        nb::arg("order").noconvert(), nb::arg("free").noconvert(), nb::arg("max_steps"), nb::arg("move").noconvert());
}
