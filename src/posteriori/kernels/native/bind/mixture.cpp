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

// `diagonal` (K, d) or `full` (K, d, d); the other has no components.
mixture::Components components(std::size_t d, const Doubles& unit, const Table& means, const Table& diagonal,
                               const InC<double, 3>& full, const Doubles& log_weights) {
    const std::size_t K = means.shape(0);
    const bool is_full = full.shape(0) > 0;
    need(d > 0 && K > 0 && unit.shape(0) == d && means.shape(1) == d && log_weights.shape(0) == K,
         "shapes do not fit: units, means and weights are those of d columns and K components");
    if (is_full) need(full.shape(0) == K && full.shape(1) == d && full.shape(2) == d, "shapes do not fit: factors are (K, d, d)");
    else need(diagonal.shape(0) == K && diagonal.shape(1) == d, "shapes do not fit: factors are (K, d)");
    return {K, d, is_full, unit.data(), means.data(), is_full ? full.data() : diagonal.data(), log_weights.data()};
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
           std::optional<OutC<float, 2>> bounds, std::optional<OutC<double, 3>> sums, int threads) {
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
            NoGil release;
            const auto found = kmeans::step(rows, centres, drift ? drift->data() : nullptr, wide, label.data(),
                                            bounds ? bounds->data() : nullptr, sums ? &into : nullptr, threads);
            return std::make_tuple(found.changed, found.settled, found.looked);
        },
        nb::arg("X").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("shift").noconvert(), nb::arg("unit"),
        nb::arg("panels").noconvert().none(), nb::arg("C").noconvert(), nb::arg("origin").noconvert(),
        nb::arg("place").noconvert(), nb::arg("drift").noconvert().none(), nb::arg("wide"), nb::arg("label").noconvert(),
        nb::arg("bounds").noconvert().none(), nb::arg("sums").noconvert().none(), nb::arg("threads"));
    m.def(
        "kmeans_panels",
        [](InC<T, 2> X, Doubles shift, double unit, OutC<float, 3> out, int threads) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, unit);
            need_panels(rows, out.shape(0), out.shape(1), out.shape(2));
            NoGil release;
            kmeans::fill_panels(rows, out.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("shift").noconvert(), nb::arg("unit"), nb::arg("out").noconvert(),
        nb::arg("threads"));
    m.def(
        "kmeans_distances",
        [](InC<T, 2> X, Doubles shift, Table C, InC<std::int32_t, 1> label, OutC<double, 1> out, int threads) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, 1.0);
            const auto centres = centres_of(C, rows.d);
            need(label.shape(0) == rows.n && out.shape(0) == rows.n, "shapes do not fit: every row has a label");
            need_labels(label.data(), rows.n, centres.K);
            NoGil release;
            kmeans::distances(rows, centres, label.data(), out.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("shift").noconvert(), nb::arg("C").noconvert(), nb::arg("label").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "kmeans_candidates",
        [](InC<T, 2> X, Doubles shift, InC<std::int64_t, 1> candidate, Doubles closest, OutC<double, 2> out, int threads) {
            const auto rows = rows_of<T>(X, std::nullopt, shift, 1.0);
            const std::size_t count = candidate.shape(0);
            need(closest.shape(0) == rows.n && out.shape(0) == count && out.shape(1) == rows.n,
                 "shapes do not fit: out is (candidates, n)");
            for (std::size_t c = 0; c < count; ++c)
                need(candidate(c) >= 0 && std::size_t(candidate(c)) < rows.n, "a candidate is no row");
            NoGil release;
            kmeans::candidates(rows, candidate.data(), count, closest.data(), out.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("shift").noconvert(), nb::arg("candidate").noconvert(),
        nb::arg("closest").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
}

template <typename T> void bind_for(nb::module_& m) {
    m.def(
        "mixture_log_joint",
        [](InC<T, 2> X, Doubles unit, Table means, Table diagonal, InC<double, 3> full, Doubles log_weights,
           OutC<double, 2> out, int threads) {
            const auto theta = components(X.shape(1), unit, means, diagonal, full, log_weights);
            need(out.shape(0) == X.shape(0) && out.shape(1) == theta.K, "shapes do not fit: out is (n, K)");
            NoGil release;
            mixture::log_joint(X.data(), X.shape(0), theta, out.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("unit").noconvert(), nb::arg("means").noconvert(), nb::arg("diagonal").noconvert(),
        nb::arg("full").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "mixture_sums",
        [](InC<T, 2> X, std::optional<Doubles> weights, Doubles unit, Table means, Table diagonal, InC<double, 3> full,
           Doubles log_weights, Table pivots, std::optional<Table> shares, OutC<double, 1> N, OutC<double, 2> S,
           OutC<double, 1> Q, int threads) {
            const auto theta = components(X.shape(1), unit, means, diagonal, full, log_weights);
            const std::size_t n = X.shape(0), K = theta.K, d = theta.d;
            need(!weights || weights->shape(0) == n, "shapes do not fit: every row has a weight");
            need(!shares || (shares->shape(0) == n && shares->shape(1) == K), "shapes do not fit: shares are (n, K)");
            need(pivots.shape(0) == K && pivots.shape(1) == d && N.shape(0) == K && S.shape(0) == K && S.shape(1) == d &&
                     Q.shape(0) == K * d * (theta.full ? d : 1),
                 "shapes do not fit: pivots and sums are those of K components");
            NoGil release;
            return mixture::sums(X.data(), n, weights ? weights->data() : nullptr, theta, pivots.data(),
                                 shares ? shares->data() : nullptr, N.data(), S.data(), Q.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("unit").noconvert(),
        nb::arg("means").noconvert(), nb::arg("diagonal").noconvert(), nb::arg("full").noconvert(),
        nb::arg("log_weights").noconvert(), nb::arg("pivots").noconvert(), nb::arg("shares").noconvert().none(),
        nb::arg("N").noconvert(), nb::arg("S").noconvert(), nb::arg("Q").noconvert(), nb::arg("threads"));
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
        [](Table Z, InC<std::int64_t, 1> starts, Table means, Cube sigma, Doubles log_weights, Doubles log_unit,
           OutC<double, 2> out, int threads) {
            const auto rows = broken(Z, starts);
            const auto theta = normals(rows.d, means, sigma, log_weights, log_unit);
            need(out.shape(0) == rows.n && out.shape(1) == theta.K, "shapes do not fit: out is (n, K)");
            NoGil release;
            mixture::broken_log_joint(rows, theta, out.data(), threads);
        },
        nb::arg("Z").noconvert(), nb::arg("starts").noconvert(), nb::arg("means").noconvert(), nb::arg("sigma").noconvert(),
        nb::arg("log_weights").noconvert(), nb::arg("log_unit").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "broken_sums",
        [](Table Z, InC<std::int64_t, 1> starts, std::optional<Doubles> weights, Table means, Cube sigma,
           Doubles log_weights, Doubles log_unit, Table pivots, std::optional<Table> shares, OutC<double, 1> N,
           OutC<double, 2> S, OutC<double, 3> Q, int threads) {
            const auto rows = broken(Z, starts);
            const auto theta = normals(rows.d, means, sigma, log_weights, log_unit);
            const std::size_t n = rows.n, K = theta.K, d = rows.d;
            need(!weights || weights->shape(0) == n, "shapes do not fit: every row has a weight");
            need(!shares || (shares->shape(0) == n && shares->shape(1) == K), "shapes do not fit: shares are (n, K)");
            need(pivots.shape(0) == K && pivots.shape(1) == d && N.shape(0) == K && S.shape(0) == K && S.shape(1) == d &&
                     Q.shape(0) == K && Q.shape(1) == d && Q.shape(2) == d,
                 "shapes do not fit: pivots and sums are those of K components");
            NoGil release;
            return mixture::broken_sums(rows, weights ? weights->data() : nullptr, theta, pivots.data(),
                                        shares ? shares->data() : nullptr, N.data(), S.data(), Q.data(), threads);
        },
        nb::arg("Z").noconvert(), nb::arg("starts").noconvert(), nb::arg("weights").noconvert().none(),
        nb::arg("means").noconvert(), nb::arg("sigma").noconvert(), nb::arg("log_weights").noconvert(),
        nb::arg("log_unit").noconvert(), nb::arg("pivots").noconvert(), nb::arg("shares").noconvert().none(),
        nb::arg("N").noconvert(), nb::arg("S").noconvert(), nb::arg("Q").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_missing(m);
    bind_for<double>(m);
    bind_for<float>(m);
    bind_kmeans<double>(m);
    bind_kmeans<float>(m);
}
