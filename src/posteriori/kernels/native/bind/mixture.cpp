// Gaussian mixtures and k-means.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind.hpp"
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

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_for<double>(m);
    bind_for<float>(m);
}
