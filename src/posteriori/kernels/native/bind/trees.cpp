#include "trees.hpp"

#include "threads.hpp"
#include "watch.hpp"

namespace {

using namespace coded;
using posteriori::Growth;

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "grow_trees",
        [](nb::handle codes, const Classes& y, int K, const Numbers& weights, const std::string& criterion, int tried, bool drawn,
           std::optional<std::int64_t> max_depth, double least, const std::optional<InC<std::uint64_t, 1>>& seeds, nb::handle n_jobs,
           const nb::object& tell) {
            const Coded<C> table(codes);
            const auto rows = table.rows(true);
            need_classes(y, rows.n, K);
            const auto running = running_sums(weights, rows.n);
            constexpr const char* criteria[] = {"entropy", "ratio", "gini"};
            const auto* at = std::find(std::begin(criteria), std::end(criteria), criterion);
            const auto deepest = std::min<std::int64_t>(max_depth.value_or(1 << 30), 1 << 30);
            need(at != std::end(criteria) && tried >= 0 && deepest >= 0, "no such way to grow");
            const Growth how{static_cast<posteriori::Criterion>(at - std::begin(criteria)), tried, drawn, static_cast<int>(deepest), least};
            const bool bagged = seeds.has_value();
            const auto seed_of = [&](std::size_t t) { return bagged ? seeds->data()[t] : 0; };
            const int threads = team(n_jobs, bagged ? table.cells.size() * seeds->shape(0) : 0);
            std::vector<CountTree> grown(bagged ? seeds->shape(0) : 1);
            std::vector<std::vector<float>> narrow(grown.size());  // whole numbers, of bags
            std::vector<std::vector<double>> wide(grown.size());
            std::atomic<std::size_t> done{0};
            without_gil([&] {
                posteriori::Watch watch(ending(tell, done));
                posteriori::parallel_for(grown.size(), threads, [&](std::size_t t) {
                    watch();
                    std::vector<double> bag;
                    const double* own = weights ? weights->data() : nullptr;
                    if (bagged) {
                        bag.resize(rows.n);
                        posteriori::draw_bag(rows.n, weights ? running.data() : nullptr, seed_of(t), bag.data());
                        own = bag.data();
                    }
                    grown[t] = posteriori::grow_tree<C>(rows, y.data(), K, own, how, seed_of(t), watch);
                    std::vector<double> counts;
                    counts.swap(grown[t].counts);
                    if (bagged)
                        narrow[t].assign(counts.begin(), counts.end());
                    else
                        wide[t].swap(counts);
                    ++done;
                });
            });
            const auto classes = static_cast<std::size_t>(K);
            return bagged ? Trees<float>(grown, narrow).held(classes) : Trees<double>(grown, wide).held(classes);
        },
        nb::arg("codes"), nb::arg("y"), nb::arg("K"), maybe("weights"), nb::kw_only(), nb::arg("criterion") = "entropy", nb::arg("tried") = 0,
        nb::arg("drawn") = false, nb::arg("max_depth") = nb::none(), nb::arg("least") = 0.0, maybe("seeds"), jobs(), nb::arg("tell") = nb::none());
    m.def(
        "tree_leaves",
        [](nb::handle trees, nb::handle codes, nb::handle n_jobs) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            return Held(trees).with(table.sizes, table.named, [&](const auto& forest) {
                const auto out = empty<std::int32_t>({forest.trees, rows.n});
                const int threads = team(n_jobs, forest.trees * rows.n * 10);
                without_gil([&] { posteriori::tree_leaves(rows, forest, out.data, threads); });
                return out.array;
            });
        },
        nb::arg("trees"), nb::arg("codes"), jobs());
    m.def(
        "path_counts",
        [](nb::handle given, nb::handle codes, const Classes& y, const Numbers& weights) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            need(!weights || weights->shape(0) == rows.n, "weights and rows have different lengths");
            const Held trees(given);
            const auto forest = trees.forest(nb::cast<InC<double, 2>>(trees.counts, false), table.sizes, table.named);
            need_classes(y, rows.n, forest.K);
            need(forest.trees == 1, "counts of one tree");
            const auto out = zeros<double>({trees.column.shape(0), static_cast<std::size_t>(forest.K)});
            without_gil([&] { posteriori::path_counts(rows, forest, y.data(), weights ? weights->data() : nullptr, out.data); });
            return out.array;
        },
        nb::arg("trees"), nb::arg("codes"), nb::arg("y"), maybe("weights"));
    m.def(
        "forest_sums",
        [](nb::handle trees, nb::handle codes, double c, const Bits& bags, nb::handle n_jobs, double between) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            need(c >= 0 && between >= 0 && std::isfinite(c * between), "concentrations are finite, and not negative");
            return Held(trees).with(table.sizes, table.named, [&](const auto& forest) {
                const auto* in = bags_of(bags, forest.trees, rows.n);
                const auto out = zeros<double>({rows.n, static_cast<std::size_t>(forest.K)});
                const auto used = zeros<std::uint32_t>({rows.n});
                const int threads = team(n_jobs, rows.n * forest.trees * 10);
                without_gil([&] { posteriori::forest_sums(rows, forest, c, between, in, out.data, used.data, threads); });
                return nb::make_tuple(out.array, used.array);
            });
        },
        nb::arg("trees"), nb::arg("codes"), nb::arg("c"), maybe("bags"), jobs(), nb::arg("between") = 1.0);
    m.def(
        "forest_truth",
        [](nb::handle trees, nb::handle codes, const Classes& y, const std::vector<double>& cs, const Bits& bags, nb::handle n_jobs,
           double between) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            for (const double c : cs) need(c >= 0 && between >= 0 && std::isfinite(c * between), "concentrations are finite, and not negative");
            return Held(trees).with(table.sizes, table.named, [&](const auto& forest) {
                need_classes(y, rows.n, forest.K);
                const auto* in = bags_of(bags, forest.trees, rows.n);
                const auto out = zeros<double>({rows.n, cs.size()});
                const auto used = zeros<std::uint32_t>({rows.n});
                const int threads = team(n_jobs, rows.n * forest.trees * 10);
                without_gil([&] { posteriori::forest_truth(rows, forest, y.data(), cs, between, in, out.data, used.data, threads); });
                return nb::make_tuple(out.array, used.array);
            });
        },
        nb::arg("trees"), nb::arg("codes"), nb::arg("y"), nb::arg("cs"), maybe("bags"), jobs(), nb::arg("between") = 1.0);
}

}  // namespace

void bind_trees(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    m.def(
        "draw_bags",
        [](std::size_t n, const Numbers& weights, const InC<std::uint64_t, 1>& seeds, nb::handle n_jobs) {
            const auto running = running_sums(weights, n);
            const std::size_t words = (n + 63) / 64;
            const auto out = zeros<std::uint64_t>({seeds.shape(0), words});
            const int threads = team(n_jobs, n * seeds.shape(0) * 2);
            without_gil([&] {
                posteriori::parallel_for(seeds.shape(0), threads, [&](std::size_t t) {
                    std::vector<double> bag(n);
                    posteriori::draw_bag(n, weights ? running.data() : nullptr, seeds.data()[t], bag.data());
                    std::uint64_t* own = out.data + t * words;
                    for (std::size_t r = 0; r < n; ++r) own[r / 64] |= std::uint64_t{bag[r] > 0} << (r % 64);
                });
            });
            return out.array;
        },
        nb::arg("n"), as_is("weights").none(), as_is("seeds"), jobs());
}
