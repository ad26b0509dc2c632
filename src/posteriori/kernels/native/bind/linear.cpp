// Linear margins: sums over rows, dense or sparse, conjugate gradients and dual coordinate descent.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bind.hpp"
#include "margin/coordinate.hpp"
#include "margin/ridge.hpp"
#include "threads.hpp"

using namespace posteriori;

namespace {

using NoGil = nb::gil_scoped_release;
using Doubles = InC<double, 1>;
using Starts = InC<std::int64_t, 1>;

void need_rows(const std::int64_t* rows, std::size_t count, std::size_t n) {
    for (std::size_t s = 0; s < count; ++s)
        need(rows[s] >= 0 && static_cast<std::size_t>(rows[s]) < n, "the order names a row that is not there");
}

// call(the rows of X, n, their cells, d), X being dense or CSR; `checked`: it was, at an earlier call.
template <typename Call> auto with_rows(nb::handle X, const Call& call, bool checked = false) {
    if (nb::hasattr(X, "indptr")) {
        const Csr rows(X);
        const std::size_t n = nb::cast<std::size_t>(X.attr("shape")[0]), d = nb::cast<std::size_t>(X.attr("shape")[1]);
        if (!checked) need_csr(rows, n, d);
        return call(SparseRows{rows.starts.data(), rows.columns.data(), rows.values.data(), d}, n, rows.values.shape(0), d);
    }
    const auto rows = in_place<InC<double, 2>>(X);
    return call(DenseRows{rows.data(), rows.shape(1)}, rows.shape(0), rows.size(), rows.shape(1));
}

constexpr std::size_t CELLS = 500'000;  // of rows whose dots or sums are worth a thread: about a millisecond; with fewer it loses to its start

// `Descent` of `kernels.margin`: four constants and three arrays that change.
struct Moving {
    Doubles y, upper, ridge, curvature;
    OutC<double, 1> alpha, w;
    OutC<std::int64_t, 1> order;
    double bias;
    explicit Moving(const nb::object& state) : bias(nb::cast<double>(state.attr("bias"))) {
        const auto read = [&](const char* name, auto& array) { return nb::try_cast(state.attr(name), array, false); };
        if (!(read("y", y) && read("upper", upper) && read("ridge", ridge) && read("curvature", curvature) && read("alpha", alpha) &&
              read("w", w) && read("order", order)))
            throw nb::next_overload();
    }
    Descent of(std::size_t n, std::size_t d, std::size_t active) const {
        for (const auto* v : {&y, &upper, &ridge, &curvature}) need(v->shape(0) == n, "shapes do not fit: a vector is not as long as X");
        need(alpha.shape(0) == n && order.shape(0) == n && active <= n && w.shape(0) == d + 1,
             "shapes do not fit: alpha, order, active or w are not those of X");
        need_rows(order.data(), active, n);
        return {y.data(), upper.data(), ridge.data(), curvature.data(), bias, alpha.data(), w.data(), order.data()};
    }
};

nb::object dots(nb::handle X, Doubles w, double bias, nb::handle n_jobs) {
    return with_rows(X, [&](const auto& rows, std::size_t n, std::size_t cells, std::size_t d) {
        need(w.shape(0) == d + 1, "shapes do not fit: w is not that of X");
        const auto out = empty<double>({n});
        const int threads = team(n_jobs, cells, CELLS);
        without_gil([&] { row_dots(rows, n, bias, w.data(), out.data, threads); });
        return out.array;
    });
}

nb::object sums(nb::handle X, Doubles weight, double bias, std::optional<Doubles> w, nb::handle n_jobs) {
    return with_rows(X, [&](const auto& rows, std::size_t n, std::size_t cells, std::size_t d) {
        need(weight.shape(0) == n && (!w || w->shape(0) == d + 1), "shapes do not fit: weight or w is not that of X");
        const auto out = empty<double>({d + 1});
        const int threads = team(n_jobs, cells, CELLS);
        without_gil([&] { row_sums(rows, n, bias, weight.data(), w ? w->data() : nullptr, out.data, threads); });
        return out.array;
    });
}

nb::object squares(nb::handle X, Doubles weight, double bias, nb::handle n_jobs) {
    return with_rows(X, [&](const auto& rows, std::size_t n, std::size_t cells, std::size_t d) {
        need(weight.shape(0) == n, "shapes do not fit: weight is not that of X");
        const auto out = empty<double>({d + 1});
        const int threads = team(n_jobs, cells, CELLS);
        without_gil([&] { row_squares(rows, n, bias, weight.data(), out.data, threads); });
        return out.array;
    });
}

std::size_t conjugate_steps(nb::handle X, Doubles weight, double bias, Doubles scale,
                            const std::tuple<OutC<double, 1>, OutC<double, 1>, OutC<double, 1>>& state, double enough,
                            std::size_t max_steps, nb::handle n_jobs) {
    const auto& [out, rest, along] = state;
    return with_rows(X, [&, &out = out, &rest = rest, &along = along](const auto& rows, std::size_t n, std::size_t cells, std::size_t d) {
        need(weight.shape(0) == n, "shapes do not fit: weight is not that of X");
        for (std::size_t size : {scale.shape(0), out.shape(0), rest.shape(0), along.shape(0)})
            need(size == d + 1, "shapes do not fit: a vector is not as wide as X");
        const int threads = team(n_jobs, cells, CELLS);
        return without_gil([&] {
            return conjugate(rows, n, bias, weight.data(), scale.data(), {out.data(), rest.data(), along.data()}, enough, max_steps, threads);
        });
    });
}

std::tuple<std::size_t, double, double> epoch(nb::handle X, const nb::object& state, const std::tuple<std::size_t, double, double>& last,
                                              std::uint64_t seed) {
    const Moving moving(state);
    const auto [active, top, bottom] = last;
    const bool under_way = active < moving.alpha.shape(0);  // a descent begins with all rows and keeps X
    return with_rows(X, [&, active = active, top = top, bottom = bottom](const auto& rows, std::size_t n, std::size_t, std::size_t d) {
        const Descent now = moving.of(n, d, active);
        const Epoch end = without_gil([&] { return descend(rows, now, Epoch{active, top, bottom}, seed); });
        return std::make_tuple(end.active, end.top, end.bottom);
    }, under_way);
}

nb::object moved(nb::handle X, const nb::object& state, Starts free, std::size_t max_steps) {
    const Moving moving(state);
    return with_rows(X, [&](const auto& rows, std::size_t n, std::size_t, std::size_t d) {
        const Descent now = moving.of(n, d, 0);
        need_rows(free.data(), free.shape(0), n);
        const auto move = empty<double>({free.shape(0)});
        without_gil([&] { free_move(rows, now, free.data(), free.shape(0), max_steps, move.data); });
        return move.array;
    });
}

// Every model over rows of its own, a thread each; Ctrl-C ends them all.
nb::object ridge_folds(InC<double, 2> points, InC<std::uint32_t, 1> y, Doubles weights, const std::vector<Starts>& given, Doubles offset,
                       Doubles charge, InC<double, 2> metric, OutC<double, 3> B, std::size_t steps, double tol, nb::handle n_jobs) {
    const std::size_t n = points.shape(0), f = points.shape(1), M = B.shape(0), C = B.shape(1);
    need(y.shape(0) == n && weights.shape(0) == n, "shapes do not fit: a class and a weight a row are needed");
    need(C > 0 && B.shape(2) == f + 1 && given.size() == M && offset.shape(0) == C && charge.shape(0) == f + 1 &&
             metric.shape(0) == C && metric.shape(1) == f + 1, "shapes do not fit: B, metric, charge or offset are not those of the points");
    std::vector<std::int32_t> rows;
    std::vector<std::size_t> ends{0};
    for (const auto& own : given) {
        need(own.shape(0) > 0, "a model has rows");
        need_rows(own.data(), own.shape(0), n);
        for (std::size_t i = 0; i < own.shape(0); ++i) rows.push_back(static_cast<std::int32_t>(own.data()[i]));
        ends.push_back(rows.size());
    }
    need(n < (std::size_t{1} << 31), "more than 2³¹ rows");
    const std::uint32_t K = C == 1 ? 2 : static_cast<std::uint32_t>(C);
    for (std::size_t r = 0; r < n; ++r) need(y.data()[r] < K, "no such class");
    const RidgeTask task{points.data(), f, C, y.data(), weights.data(), offset.data(), charge.data(), metric.data(), steps, tol};
    const auto loss = empty<double>({M});
    const int threads = team(n_jobs, 10 * rows.size() * metric.size());
    without_gil([&] {
        Watch watch(look_at_signals);
        parallel_for(M, threads, [&](std::size_t m) {
            loss.data[m] = ridge_descend(task, rows.data() + ends[m], ends[m + 1] - ends[m], B.data() + m * C * (f + 1), watch);
        });
    });
    return loss.array;
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("ridge_folds", &ridge_folds, as_is("points"), nb::arg("y"), as_is("weights"), nb::arg("rows"), as_is("offset"), as_is("charge"),
          as_is("metric"), as_is("B"), nb::arg("steps"), nb::arg("tol"), jobs());
    m.def("row_dots", &dots, nb::arg("X"), as_is("w"), nb::arg("bias"), jobs());
    m.def("row_sums", &sums, nb::arg("X"), as_is("weight"), nb::arg("bias"), maybe("w"), jobs());
    m.def("row_squares", &squares, nb::arg("X"), as_is("weight"), nb::arg("bias"), jobs());
    m.def("conjugate", &conjugate_steps, nb::arg("X"), as_is("weight"), nb::arg("bias"), as_is("scale"), as_is("state"),
          nb::arg("enough"), nb::arg("max_steps"), jobs());
    m.def(
        "squared_hinge",
        [](Doubles margin, Doubles slope, Doubles C, double t) {
            need(slope.shape(0) == margin.shape(0) && C.shape(0) == margin.shape(0), "shapes do not fit: margin, slope and C");
            const HingeLine at = squared_hinge(margin.data(), slope.data(), C.data(), margin.shape(0), t);
            return std::make_tuple(at.value, at.first, at.second);
        },
        as_is("margin"), as_is("slope"), as_is("C"), nb::arg("t") = 0.0);
    m.def("descend", &epoch, nb::arg("X"), nb::arg("state"), nb::arg("last"), nb::arg("seed"));
    m.def("free_move", &moved, nb::arg("X"), nb::arg("state"), as_is("free"), nb::arg("max_steps"));
}
