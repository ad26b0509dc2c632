// Gaussian mixtures and k-means.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind.hpp"
#include "mixture/kmeans.hpp"
#include "mixture/missing.hpp"
#include "mixture/normal_sums.hpp"

using namespace posteriori;

namespace {

using NoGil = nb::gil_scoped_release;
using Doubles = InC<double, 1>;
using Table = InC<double, 2>;

constexpr std::size_t GRAIN = 500'000;  // products that are worth a thread

// Factors are (K, d) of diagonals, or (K, d, d).
mixture::Components components(std::size_t d, const Doubles& unit, const Table& means, const AnyC& factors, const Doubles& log_weights) {
    const std::size_t K = means.shape(0);
    const bool full = factors.ndim() == 3;
    need(d > 0 && K > 0 && unit.shape(0) == d && means.shape(1) == d && log_weights.shape(0) == K,
         "shapes do not fit: units, means and weights are those of d columns and K components");
    need((full || factors.ndim() == 2) && factors.shape(0) == K && factors.shape(1) == d && (!full || factors.shape(2) == d),
         "shapes do not fit: factors are (K, d) or (K, d, d)");
    return {K, d, full, unit.data(), means.data(), factors.data(), log_weights.data()};
}

// What is summed for each component: N, S and Q, which is (K, d) of diagonals and (K, d, d) else.
struct Sums {
    New<double> N, S, Q;
    Sums(std::size_t K, std::size_t d, bool full)
        : N(empty<double>({K})), S(empty<double>({K, d})), Q(full ? empty<double>({K, d, d}) : empty<double>({K, d})) {}
    nb::tuple with(double total) const { return nb::make_tuple(total, N.array, S.array, Q.array); }
};

void need_turn(std::size_t n, std::size_t d, std::size_t K, const std::optional<Doubles>& weights, const Table& pivots, const std::optional<Table>& shares) {
    need(!weights || weights->shape(0) == n, "shapes do not fit: every row has a weight");
    need(!shares || (shares->shape(0) == n && shares->shape(1) == K), "shapes do not fit: shares are (n, K)");
    need(pivots.shape(0) == K && pivots.shape(1) == d, "shapes do not fit: pivots are those of K components");
}

template <typename T>
kmeans::Rows<T> rows_of(const InC<T, 2>& X, const std::optional<Doubles>& weights, const Doubles& shift, double unit) {
    need(X.shape(1) > 0 && shift.shape(0) == X.shape(1), "shapes do not fit: the shift has an entry for each column");
    need(!weights || weights->shape(0) == X.shape(0), "shapes do not fit: every row has a weight");
    return {X.data(), X.shape(0), X.shape(1), shift.data(), weights ? weights->data() : nullptr, unit, nullptr};
}

kmeans::Centres centres_of(const Table& C, std::size_t d) {
    need(C.shape(0) > 0 && C.shape(1) == d, "shapes do not fit: centres are (K, d)");
    return {C.data(), C.shape(0), nullptr, nullptr};
}

void need_labels(const std::int32_t* label, std::size_t n, std::size_t K) {
    for (std::size_t r = 0; r < n; ++r) need(label[r] >= 0 && std::size_t(label[r]) < K, "a label is that of no centre");
}

template <typename T> void need_panels(const kmeans::Rows<T>& rows, std::size_t groups, std::size_t lines, std::size_t across) {
    need(groups == (rows.n + kmeans::GROUP - 1) / kmeans::GROUP && lines == rows.d + 1 && across == kmeans::GROUP,
         "shapes do not fit: panels are (groups, d + 1, 16)");
}

template <typename T> void bind_kmeans(nb::module_& m) {
    m.def(
        "kmeans_step",
        [](InC<T, 2> X, std::optional<Doubles> weights, Doubles shift, double unit, std::optional<InC<float, 3>> panels,
           Table C, Doubles origin, Table place, std::optional<Doubles> drift, bool wide, OutC<std::int32_t, 1> label,
           std::optional<OutC<float, 2>> bounds, std::optional<OutC<double, 3>> sums, nb::handle n_jobs) {
            auto rows = rows_of<T>(X, weights, shift, unit);
            const std::size_t K = C.shape(0), d = rows.d;
            if (panels) need_panels(rows, panels->shape(0), panels->shape(1), panels->shape(2)), rows.panels = panels->data();
            need(K > 0 && C.shape(1) == d && place.shape(0) == K && place.shape(1) == d && origin.shape(0) == d,
                 "shapes do not fit: centres and their places are (K, d)");
            need(label.shape(0) == rows.n, "shapes do not fit: every row has a label");
            need(!bounds || (bounds->shape(0) == 2 && bounds->shape(1) == rows.n), "shapes do not fit: bounds are (2, n)");
            need(!drift || drift->shape(0) == K, "shapes do not fit: every centre has a drift");
            need(!sums || (sums->shape(0) == 2 && sums->shape(1) == K && sums->shape(2) == d + 1),
                 "shapes do not fit: sums are those of K centres");
            const kmeans::Centres centres{C.data(), K, origin.data(), place.data()};
            const kmeans::Sums into{sums ? sums->data() : nullptr, sums ? sums->data() + K * (d + 1) : nullptr};
            const int threads = team(n_jobs, rows.n * (K * d + 4 * K + 8 * d), GRAIN);
            NoGil release;
            const auto found = kmeans::step(rows, centres, drift ? drift->data() : nullptr, wide, label.data(),
                                            bounds ? bounds->data() : nullptr, sums ? &into : nullptr, threads);
            return std::make_tuple(found.changed, found.settled, found.looked);
        },
        as_is("X"), as_is("weights").none(), as_is("shift"), nb::arg("unit"), as_is("panels").none(), as_is("C"), as_is("origin"),
        as_is("place"), as_is("drift").none(), nb::arg("wide"), as_is("label"), as_is("bounds").none(), as_is("sums").none(), jobs());
    m.def(
        "kmeans_panels",
        [](InC<T, 2> X, Doubles shift, double unit, nb::handle n_jobs) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, unit);
            const auto out = empty<float>({(rows.n + kmeans::GROUP - 1) / kmeans::GROUP, rows.d + 1, kmeans::GROUP});
            const int threads = team(n_jobs, 4 * X.size(), GRAIN);
            without_gil([&] { kmeans::fill_panels(rows, out.data, threads); });
            return out.array;
        },
        as_is("X"), as_is("shift"), nb::arg("unit"), jobs());
    m.def(
        "kmeans_distances",
        [](InC<T, 2> X, Doubles shift, Table C, InC<std::int32_t, 1> label, nb::handle n_jobs) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, 1.0);
            const auto centres = centres_of(C, rows.d);
            need(label.shape(0) == rows.n, "shapes do not fit: every row has a label");
            need_labels(label.data(), rows.n, centres.K);
            const auto out = empty<double>({rows.n});
            const int threads = team(n_jobs, X.size(), GRAIN);
            without_gil([&] { kmeans::distances(rows, centres, label.data(), out.data, threads); });
            return out.array;
        },
        as_is("X"), as_is("shift"), as_is("centres"), as_is("label"), jobs());
    m.def(
        "kmeans_candidates",
        [](InC<T, 2> X, Doubles shift, InC<std::int64_t, 1> candidate, Doubles closest, nb::handle n_jobs) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, 1.0);
            const std::size_t count = candidate.shape(0);
            need(closest.shape(0) == rows.n, "shapes do not fit: every row has a distance");
            for (std::size_t c = 0; c < count; ++c)
                need(candidate(c) >= 0 && std::size_t(candidate(c)) < rows.n, "a candidate is no row");
            const auto out = empty<double>({count, rows.n});
            const int threads = team(n_jobs, X.size() * count, GRAIN);
            without_gil([&] { kmeans::candidates(rows, candidate.data(), count, closest.data(), out.data, threads); });
            return out.array;
        },
        as_is("X"), as_is("shift"), as_is("candidates"), as_is("closest"), jobs());
}

template <typename T> void bind_for(nb::module_& m) {
    m.def(
        "mixture_log_joint",
        [](InC<T, 2> X, Doubles unit, Table means, AnyC factors, Doubles log_weights, nb::handle n_jobs) {
            const auto theta = components(X.shape(1), unit, means, factors, log_weights);
            const auto out = empty<double>({X.shape(0), theta.K});
            const int threads = team(n_jobs, X.shape(0) * (factors.size() + 16 * theta.K), GRAIN);
            without_gil([&] { mixture::log_joint(X.data(), X.shape(0), theta, out.data, threads); });
            return out.array;
        },
        as_is("X"), as_is("unit"), as_is("means"), as_is("factors"), as_is("log_weights"), jobs());
    m.def(
        "mixture_sums",
        [](InC<T, 2> X, std::optional<Doubles> weights, Doubles unit, Table means, AnyC factors, Doubles log_weights, Table pivots,
           std::optional<Table> shares, nb::handle n_jobs) {
            const auto theta = components(X.shape(1), unit, means, factors, log_weights);
            const std::size_t n = X.shape(0);
            need_turn(n, theta.d, theta.K, weights, pivots, shares);
            const Sums sums(theta.K, theta.d, theta.full);
            const int threads = team(n_jobs, n * (factors.size() + 16 * theta.K), GRAIN);
            return sums.with(without_gil([&] {
                return mixture::sums(X.data(), n, weights ? weights->data() : nullptr, theta, pivots.data(),
                                     shares ? shares->data() : nullptr, sums.N.data, sums.S.data, sums.Q.data, threads);
            }));
        },
        as_is("X"), as_is("weights").none(), as_is("unit"), as_is("means"), as_is("factors"), as_is("log_weights"), as_is("pivots"),
        maybe("shares"), jobs());
}

using Cube = InC<double, 3>;

mixture::Broken broken(const Table& Z, const InC<std::int64_t, 1>& starts) {
    const std::size_t n = Z.shape(0), count = starts.shape(0);
    need(Z.shape(1) > 0 && count > 0 && starts(0) == 0 && std::size_t(starts(count - 1)) == n,
         "shapes do not fit: patterns begin with the first row and end with the last");
    for (std::size_t p = 0; p + 1 < count; ++p) need(starts(p) < starts(p + 1), "a pattern has a row at least");
    return {Z.data(), n, Z.shape(1), starts.data(), count - 1};
}

mixture::Normals normals(std::size_t d, const Table& means, const Cube& sigma, const Doubles& log_weights, const Doubles& log_unit) {
    const std::size_t K = means.shape(0);
    need(K > 0 && means.shape(1) == d && sigma.shape(0) == K && sigma.shape(1) == d && sigma.shape(2) == d &&
             log_weights.shape(0) == K && log_unit.shape(0) == d,
         "shapes do not fit: components are those of d columns");
    return {K, means.data(), sigma.data(), log_weights.data(), log_unit.data()};
}

void bind_missing(nb::module_& m) {
    m.def(
        "broken_log_joint",
        [](Table Z, InC<std::int64_t, 1> starts, Table means, Cube sigma, Doubles log_weights, Doubles log_unit, nb::handle n_jobs) {
            const auto rows = broken(Z, starts);
            const auto theta = normals(rows.d, means, sigma, log_weights, log_unit);
            const auto out = empty<double>({rows.n, theta.K});
            const int threads = team(n_jobs, rows.n * sigma.size(), GRAIN);
            without_gil([&] { mixture::broken_log_joint(rows, theta, out.data, threads); });
            return out.array;
        },
        as_is("Z"), as_is("starts"), as_is("means"), as_is("covariances"), as_is("log_weights"), as_is("log_unit"), jobs());
    m.def(
        "broken_sums",
        [](Table Z, InC<std::int64_t, 1> starts, std::optional<Doubles> weights, Table means, Cube sigma,
           Doubles log_weights, Doubles log_unit, Table pivots, std::optional<Table> shares, nb::handle n_jobs) {
            const auto rows = broken(Z, starts);
            const auto theta = normals(rows.d, means, sigma, log_weights, log_unit);
            need_turn(rows.n, rows.d, theta.K, weights, pivots, shares);
            const Sums sums(theta.K, rows.d, true);
            const int threads = team(n_jobs, rows.n * sigma.size(), GRAIN);
            return sums.with(without_gil([&] {
                return mixture::broken_sums(rows, weights ? weights->data() : nullptr, theta, pivots.data(),
                                            shares ? shares->data() : nullptr, sums.N.data, sums.S.data, sums.Q.data, threads);
            }));
        },
        as_is("Z"), as_is("starts"), as_is("weights").none(), as_is("means"), as_is("covariances"), as_is("log_weights"),
        as_is("log_unit"), as_is("pivots"), maybe("shares"), jobs());
}

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_missing(m);
    bind_for<double>(m);
    bind_for<float>(m);
    bind_kmeans<double>(m);
    bind_kmeans<float>(m);
}
