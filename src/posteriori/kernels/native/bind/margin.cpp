// Kernel blocks and the pairwise solver of support vector machines.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

// A kernel's kind, scale, shift and degree, as `kernels.margin.KernelSpec` has them.
KernelSpec spec_of(const nb::tuple& spec) {
    constexpr const char* kinds[] = {"dot", "polynomial", "sigmoid", "rbf", "distance", "manhattan"};
    need(spec.size() == 4, "a kernel has a kind and three numbers");
    const auto kind = nb::cast<std::string>(spec[0]);
    const auto* at = std::find(std::begin(kinds), std::end(kinds), kind);
    need(at != std::end(kinds), "no such kernel");
    return {static_cast<KernelKind>(at - std::begin(kinds)), nb::cast<double>(spec[1]), nb::cast<double>(spec[2]), nb::cast<int>(spec[3])};
}

constexpr std::size_t WORTH_A_THREAD = 20'000'000;  // elementary steps, some milliseconds: less is done before another thread has begun
constexpr std::size_t WORTH_OF_A_MACHINE = 2'000'000, WORTH_OF_ROWS = 4'000'000;

// A matrix (q, q) whose rows are padded to whole registers as `margin.square` has it: of one that is not, a copy.
template <typename T> struct Square {
    InC<T, 2> K;
    std::vector<T> copy;
    const T* data;
    std::size_t q, width;
    explicit Square(const InC<T, 2>& given) : K(given), data(K.data()), q(K.shape(0)), width((q + ALIGNED - 1) / ALIGNED * ALIGNED) {
        if (K.shape(1) == q && q != width) {
            copy.assign(q * width, T(0));
            for (std::size_t i = 0; i < q; ++i) std::copy_n(K.data() + i * q, q, copy.data() + i * width);
            data = copy.data();
        } else {
            need(K.shape(1) == width, "shapes do not fit: K is (q, q) with its rows padded to eights");
        }
    }
};

// `Packed` of `kernels.margin`: the rows, their panels and norms.
template <typename T> struct Panels {
    InC<T, 2> rows;
    InC<T, 3> panels;
    InC<T, 1> norms;
    explicit Panels(const nb::object& packed) {
        if (!nb::try_cast(packed.attr("rows"), rows, false) || !nb::try_cast(packed.attr("panels"), panels, false) || !nb::try_cast(packed.attr("norms"), norms, false))
            throw nb::next_overload();
        need_panels<T>(n(), rows.shape(1), panels.shape(0), panels.shape(1), panels.shape(2), norms.shape(0));
    }
    std::size_t n() const { return rows.shape(0); }
    Packed<T> view() const { return {panels.data(), norms.data(), n(), rows.shape(1)}; }
    // The rows `a` fit these.
    int team_for(const InC<T, 2>& a, const InC<T, 1>& a_norms, nb::handle n_jobs) const {
        need(a.shape(1) == rows.shape(1), "shapes do not fit: rows of another number of columns");
        need(a_norms.shape(0) == a.shape(0), "shapes do not fit: every row has a norm");
        return team(n_jobs, a.shape(0) * n() * (a.shape(1) + 16), WORTH_A_THREAD);
    }
};

void need_slots(const InC<long long, 1>& slot, std::size_t count, std::size_t rows) {
    need(slot.shape(0) == count, "shapes do not fit: every row has a slot");
    for (std::size_t i = 0; i < count; ++i)
        need(slot.data()[i] >= 0 && static_cast<std::size_t>(slot.data()[i]) < rows, "shapes do not fit: a slot is outside the rows");
}

template <typename T> void bind_for(nb::module_& m) {
    m.def(
        "pack_rows",
        [](InC<T, 2> rows, nb::handle n_jobs) {
            const std::size_t n = rows.shape(0), d = rows.shape(1), width = panel_width<T>(), count = (n + width - 1) / width;
            const auto panels = empty<T>({count, d, width}), norms = empty<T>({count * width});
            const int threads = team(n_jobs, n * d);
            without_gil([&] { pack_rows(rows.data(), n, d, panels.data, norms.data, threads); });
            return nb::make_tuple(panels.array, norms.array);
        },
        as_is("rows"), jobs());
    m.def(
        "kernel_rows",
        [](const nb::tuple& kernel, InC<T, 2> a, InC<T, 1> a_norms, const nb::object& packed, OutC<T, 2> out, InC<long long, 1> slot,
           nb::handle n_jobs) {
            const auto spec = spec_of(kernel);
            const Panels<T> b(packed);
            const int threads = b.team_for(a, a_norms, n_jobs);
            need(out.shape(1) >= b.n(), "shapes do not fit: out is narrower than b");
            need_slots(slot, a.shape(0), out.shape(0));
            NoGil release;
            kernel_rows(spec, a.data(), a_norms.data(), a.shape(0), b.view(), out.data(), out.shape(1), slot.data(), threads);
        },
        nb::arg("spec"), as_is("a"), as_is("a_norms"), nb::arg("b"), as_is("out"), as_is("slot"), jobs());
    m.def(
        "kernel_square",
        [](const nb::tuple& kernel, const nb::object& packed, OutC<T, 2> out, nb::handle n_jobs) {
            const auto spec = spec_of(kernel);
            const Panels<T> b(packed);
            const std::size_t n = b.n();
            need(out.shape(0) >= n && out.shape(1) >= n, "shapes do not fit: out is smaller than the square");
            const int threads = team(n_jobs, n * n * (b.rows.shape(1) + 16) / 2, WORTH_A_THREAD);
            NoGil release;
            kernel_square(spec, b.rows.data(), b.view(), out.data(), out.shape(1), threads);
        },
        nb::arg("spec"), nb::arg("b"), as_is("out"), jobs());
    m.def(
        "sparse_kernel_rows",
        [](const nb::tuple& kernel, const nb::object& a, Doubles a_norms, const nb::tuple& columns, OutC<T, 2> out,
           InC<long long, 1> slot, nb::handle n_jobs) {
            const auto spec = spec_of(kernel);
            need(spec.kind != KernelKind::manhattan, "no such kernel between sparse rows");
            const Csr rows(a);
            Starts b_starts;
            Places b_at;
            Doubles b_values, b_norms;
            if (columns.size() != 4 || !nb::try_cast(columns[0], b_starts, false) || !nb::try_cast(columns[1], b_at, false) ||
                !nb::try_cast(columns[2], b_values, false) || !nb::try_cast(columns[3], b_norms, false))
                throw nb::next_overload();
            need(b_starts.shape(0) > 0 && out.shape(1) >= b_norms.shape(0), "shapes do not fit: out is narrower than b");
            need_csr(rows, a_norms.shape(0), b_starts.shape(0) - 1);
            need_csr({b_starts, b_at, b_values}, b_starts.shape(0) - 1, b_norms.shape(0));
            need_slots(slot, a_norms.shape(0), out.shape(0));
            const SparseColumns b{b_starts.data(), b_at.data(), b_values.data(), b_norms.data(), b_norms.shape(0)};
            const int threads = team(n_jobs, a_norms.shape(0) * (4 * b_norms.shape(0) + b_values.shape(0)), WORTH_A_THREAD);
            NoGil release;
            sparse_kernel_rows(spec, rows.starts.data(), rows.columns.data(), rows.values.data(), a_norms.data(), a_norms.shape(0), b,
                               out.data(), out.shape(1), slot.data(), threads);
        },
        nb::arg("spec"), nb::arg("a"), as_is("a_norms"), nb::arg("b"), as_is("out"), as_is("slot"), jobs());
    m.def(
        "kernel_sums",
        [](const nb::tuple& kernel, InC<T, 2> a, InC<T, 1> a_norms, const nb::object& packed, InC<double, 2> coef, nb::handle n_jobs) {
            const auto spec = spec_of(kernel);
            const Panels<T> b(packed);
            const int threads = b.team_for(a, a_norms, n_jobs);
            need(coef.shape(1) == b.n(), "shapes do not fit: coef is not (sums, n)");
            const auto out = zeros<double>({a.shape(0), coef.shape(0)});
            without_gil([&] {
                kernel_sums(spec, a.data(), a_norms.data(), a.shape(0), b.view(), coef.data(), coef.shape(0), out.data, threads);
            });
            return out.array;
        },
        nb::arg("spec"), as_is("a"), as_is("a_norms"), nb::arg("b"), nb::arg("coef"), jobs());
    m.def(
        "smo_block",
        [](InC<T, 2> given, InC<double, 1> low, InC<double, 1> high, OutC<double, 1> beta, OutC<double, 1> v, double tol,
           std::size_t max_steps) {
            const Square<T> K(given);
            need(low.shape(0) == K.q && high.shape(0) == K.q && beta.shape(0) == K.q && v.shape(0) == K.q,
                 "shapes do not fit: a vector is not as long as K");
            need(K.q <= MOST_IN_LANES<T>, "a block has at most 2²⁴ variables in float");
            const SmoEnd end = without_gil([&] {
                return smo_block(K.data, K.q, K.width, low.data(), high.data(), beta.data(), v.data(), tol, max_steps);
            });
            return std::make_pair(end.steps, end.gap);
        },
        as_is("K"), as_is("low"), as_is("high"), as_is("beta"), as_is("v"), nb::arg("tol"), nb::arg("max_steps"));
    m.def(
        "smo_machines",
        [](InC<T, 2> K, const nb::tuple& problems, double tol, std::size_t max_steps, nb::handle n_jobs) {
            Starts starts, rows;
            Doubles p, low, high;
            if (problems.size() != 5 || !nb::try_cast(problems[0], starts, false) || !nb::try_cast(problems[1], rows, false) ||
                !nb::try_cast(problems[2], p, false) || !nb::try_cast(problems[3], low, false) || !nb::try_cast(problems[4], high, false))
                throw nb::next_overload();
            const std::size_t n = K.shape(0), all = rows.shape(0);
            need(K.shape(1) == (n + ALIGNED - 1) / ALIGNED * ALIGNED, "shapes do not fit: K is (n, n) with its rows padded to eights");
            need(n <= MOST_IN_LANES<T>, "a block has at most 2²⁴ variables in float");
            need(starts.shape(0) > 0, "shapes do not fit: there is no machine");
            const std::size_t count = starts.shape(0) - 1;
            need(starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[count]) == all, "the machines are not all of the rows");
            for (std::size_t k = 0; k < count; ++k) need(starts.data()[k] <= starts.data()[k + 1], "the starts of the machines fall");
            need(p.shape(0) == all && low.shape(0) == all && high.shape(0) == all, "shapes do not fit: a vector is not as long as the rows");
            for (std::size_t i = 0; i < all; ++i)
                need(rows.data()[i] >= 0 && static_cast<std::size_t>(rows.data()[i]) < n, "a row is outside K");
            const Machines machines{count, starts.data(), rows.data(), p.data(), low.data(), high.data()};
            static_assert(sizeof(MachineEnd) == 5 * sizeof(double));
            const auto beta = empty<double>({all}), v = empty<double>({all}), ends = empty<double>({count, 5});
            const int threads = count > 1 ? team(n_jobs, 5 * all * all / count, WORTH_OF_A_MACHINE) : 1;
            without_gil([&] {
                smo_machines(K.data(), n, K.shape(1), machines, tol, max_steps, beta.data, v.data, reinterpret_cast<MachineEnd*>(ends.data), threads);
            });
            return nb::make_tuple(beta.array, v.array, ends.array);
        },
        as_is("K"), nb::arg("machines"), nb::arg("tol"), nb::arg("max_steps"), jobs());
    m.def(
        "subtract_rows",
        [](InC<T, 2> rows, InC<long long, 1> slot, InC<double, 1> step, OutC<double, 1> v, nb::handle n_jobs) {
            need(v.shape(0) <= rows.shape(1), "shapes do not fit: v is longer than a row");
            need_slots(slot, step.shape(0), rows.shape(0));
            const int threads = team(n_jobs, slot.shape(0) * v.shape(0), WORTH_OF_ROWS);
            NoGil release;
            subtract_rows(rows.data(), rows.shape(1), slot.data(), step.data(), slot.shape(0), v.data(), v.shape(0), threads);
        },
        as_is("rows"), as_is("slot"), as_is("step"), as_is("v"), jobs());
}

}  // namespace

void need_csr(const Csr& rows, std::size_t n, std::size_t d) {
    need(rows.starts.shape(0) == n + 1 && rows.values.shape(0) == rows.columns.shape(0), "shapes do not fit: no CSR matrix");
    const auto* start = rows.starts.data();
    for (std::size_t i = 0; i < n; ++i) need(start[i] >= 0 && start[i] <= start[i + 1], "the starts of the rows fall");
    need(static_cast<std::size_t>(start[n]) <= rows.columns.shape(0), "the rows reach beyond the stored cells");
    need(within(rows.columns.data() + start[0], static_cast<std::size_t>(start[n] - start[0]), d), "a column is outside X");
}

void bind_margin(nb::module_& m) {
    m.def(
        "merge_rows",
        [](InC<double, 2> X, Doubles target, Doubles weight, InC<double, 2> directions) {
            const std::size_t n = X.shape(0);
            need(target.shape(0) == n && weight.shape(0) == n, "shapes do not fit: every row has a target and a weight");
            need(directions.shape(0) == 2 && directions.shape(1) == X.shape(1), "shapes do not fit: directions are not (2, columns)");
            const auto first = empty<std::int64_t>({n}), group = empty<std::int64_t>({n});
            const auto total = empty<double>({n}), share = empty<double>({n});
            const std::size_t found = without_gil([&] {
                return merge_rows(X.data(), n, X.shape(1), target.data(), weight.data(), directions.data(), first.data, total.data, group.data, share.data);
            });
            const nb::slice some(std::size_t{0}, found);
            return nb::make_tuple(first.array[some], total.array[some], group.array, share.array);
        },
        as_is("X"), as_is("target"), as_is("weight"), as_is("directions"));
    m.def(
        "pair_votes",
        [](InC<double, 2> decisions, std::size_t classes) {
            need(classes > 0 && classes < 1 << 20 && decisions.shape(1) == classes * (classes - 1) / 2,
                 "shapes do not fit: decisions are not (rows, pairs of classes)");
            const auto out = empty<double>({decisions.shape(0), classes});
            without_gil([&] { pair_votes(decisions.data(), decisions.shape(0), classes, out.data); });
            return out.array;
        },
        nb::arg("decisions"), nb::arg("n_classes"));
    bind_for<float>(m);
    bind_for<double>(m);
}
