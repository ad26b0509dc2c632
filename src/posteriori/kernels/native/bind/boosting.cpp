#include "trees/boost.hpp"

#include "threads.hpp"
#include "trees.hpp"

namespace {

using namespace coded;
using posteriori::Boosted;
using posteriori::BoostedTree;
using posteriori::Boosting;

// `Boosting` of `kernels.trees`.
Boosting how_of(nb::handle given) {
    const auto number = [&](const char* name) { return nb::cast<int>(given.attr(name)); };
    const auto real = [&](const char* name) { return nb::cast<double>(given.attr(name)); };
    const Boosting how{nb::cast<bool>(given.attr("exponential")), number("depth"), number("tried"), number("least"), real("rate"), real("ridge"),
                       real("share"), number("rounds"), number("every"), number("patience"), real("better")};
    need(how.depth >= 0 && how.depth <= 64 && how.tried >= 0 && how.least >= 1 && how.least <= 1 << 28, "no such way to grow");
    need(how.rounds >= 0 && how.rounds <= 1'000'000 && how.every >= 1 && how.patience >= 1, "no such number of rounds");
    need(how.rate > 0 && std::isfinite(how.rate) && how.lambda > 0 && std::isfinite(how.lambda) && how.share > 0 && how.share <= 1 &&
             how.better >= 0, "no such way to boost");
    return how;
}

void need_few(std::size_t n) { need(n > 0 && n < (std::size_t{1} << 28), "1 to 2²⁸ rows"); }

// (`Trees`, what each node's split gained)
nb::tuple held_of(std::vector<BoostedTree>& grown, std::size_t V) {
    std::vector<CountTree> shapes;
    std::vector<std::vector<float>> values;
    std::vector<float> gains;
    for (auto& one : grown) {
        gains.insert(gains.end(), one.gains.begin(), one.gains.end());
        shapes.push_back(std::move(one.tree)), values.push_back(std::move(one.values));
    }
    const std::size_t nodes = gains.size();
    return nb::make_tuple(Trees<float>(shapes, values).held(V), owned(std::move(gains), {nodes}));
}

template <typename S> struct Kind {
    using type = S;
};

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "boost",
        [](nb::handle codes, const Classes& y, int K, const Numbers& weights, const InC<std::uint8_t, 1>& fold,
           const InC<std::uint64_t, 1>& seeds_given, nb::handle settings, nb::handle n_jobs, const nb::object& tell) {
            const Coded<C> table(codes);
            const auto rows = table.rows(true);
            const std::vector<std::uint64_t> seeds(seeds_given.data(), seeds_given.data() + seeds_given.shape(0));
            need_few(rows.n);
            need_classes(y, rows.n, K);
            need(K > 1 && static_cast<std::size_t>(K) <= std::max<std::size_t>(rows.n, 2), "two classes are needed, and a row of each");
            running_sums(weights, rows.n);
            need(!seeds.empty() && seeds.size() < 256 && fold.shape(0) == rows.n, "a fold a row is needed");
            need(std::all_of(fold.data(), fold.data() + rows.n, [&](auto f) { return f < seeds.size(); }), "no such fold");
            const Boosting how = how_of(settings);
            const int threads = team(n_jobs, table.cells.size() * (K == 2 ? 1 : static_cast<std::size_t>(K)) * seeds.size() *
                                                 static_cast<std::size_t>(std::min(how.every, how.rounds)));
            std::atomic<std::size_t> done{0};
            Boosted made = without_gil([&] {
                posteriori::Watch watch(ending(tell, done));
                return posteriori::boost<C>(rows, y.data(), K, weights ? weights->data() : nullptr, fold.data(), seeds, how, threads, watch, done);
            });
            const std::size_t V = K == 2 ? 1 : static_cast<std::size_t>(K), checks = made.losses.size();
            const nb::tuple trees = held_of(made.trees, V);
            return nb::make_tuple(trees[0], trees[1], owned(std::move(made.start), {seeds.size(), V}), owned(std::move(made.losses), {checks}),
                                  owned(std::move(made.out), {rows.n, V}));
        },
        nb::arg("codes"), nb::arg("y"), nb::arg("K"), as_is("weights").none(), as_is("fold"), as_is("seeds"), nb::arg("how"), jobs(),
        nb::arg("tell") = nb::none());
    m.def(
        "boost_tree",  // of derivatives that are given
        [](nb::handle codes, const InC<double, 2>& g, const InC<double, 2>& h, nb::handle settings, std::uint64_t seed, bool words) {
            const Coded<C> table(codes);
            const auto rows = table.rows(true);
            need_few(rows.n);
            const std::size_t V = g.shape(1), n = rows.n;
            need(!words || n <= posteriori::Words::ROWS, "too many rows for words");
            need(g.shape(0) == n && h.shape(0) == n && h.shape(1) == V && V > 0, "derivatives of every row and value");
            double most_g = 0, most_h = 0;
            for (std::size_t i = 0; i < n * V; ++i) {
                need(std::isfinite(g.data()[i]) && h.data()[i] > 0 && std::isfinite(h.data()[i]), "derivatives are finite, the second above 0");
                most_g = std::max(most_g, std::abs(g.data()[i])), most_h = std::max(most_h, h.data()[i]);
            }
            const Boosting how = how_of(settings);
            std::vector<BoostedTree> grown;
            {
                nb::gil_scoped_release release;
                posteriori::Watch watch(nullptr);
                std::vector<std::int32_t> all(n);
                for (std::size_t r = 0; r < n; ++r) all[r] = static_cast<std::int32_t>(r);
                posteriori::Xoshiro random(seed);
                const int values = static_cast<int>(V);
                const auto grow = [&](auto kind, auto&& set) {
                    using S = typename decltype(kind)::type;
                    const posteriori::Tiles<C> tiles(rows, S::near(values), S::units(values) * sizeof(typename S::Unit), how, 1);
                    S slopes(n, values, tiles.fits);
                    slopes.bound(most_g > 0 ? most_g : 1.0, most_h);
                    for (std::size_t r = 0; r < n; ++r) set(slopes, r, g.data() + r * V, h.data() + r * V);
                    posteriori::BoostGrower<C, S> grower(rows, tiles, values, how);
                    grown.push_back(grower.grow(all, slopes, random, 1, watch));
                };
                if (words)
                    grow(Kind<posteriori::Words>{}, [&](auto& to, std::size_t r, const double* g, const double* h) {
                        to.set(r, g, h, static_cast<std::uint32_t>(seed));
                    });
                else
                    grow(Kind<posteriori::Slopes>{}, [&](auto& to, std::size_t r, const double* g, const double* h) {
                        for (int v = 0; v < values; ++v) to.set(r, v, g[v], h[v]);
                    });
            }
            return held_of(grown, V);
        },
        nb::arg("codes"), as_is("g"), as_is("h"), nb::arg("how"), nb::arg("seed") = 0, nb::arg("words") = false);
    m.def(
        "boosted_posterior",
        [](nb::handle given, const InC<float, 2>& start, int K, nb::handle codes, nb::handle n_jobs) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            const Held trees(given);
            const auto forest = trees.forest(nb::cast<InC<float, 2>>(trees.counts, false), table.sizes, table.named);
            const std::size_t folds = start.shape(0);
            need(folds > 0 && forest.trees % folds == 0 && static_cast<int>(start.shape(1)) == forest.K && K > 1 && forest.K == (K == 2 ? 1 : K),
                 "as many trees a fold, and a start");
            const auto out = zeros<double>({rows.n, static_cast<std::size_t>(K)});
            const int threads = team(n_jobs, rows.n * std::max<std::size_t>(forest.trees, 1) * 10);
            without_gil([&] { posteriori::boosted_posterior(rows, forest, start.data(), folds, K, out.data, threads); });
            return out.array;
        },
        nb::arg("trees"), as_is("start"), nb::arg("K"), nb::arg("codes"), jobs());
}

}  // namespace

void bind_boosting(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
}
