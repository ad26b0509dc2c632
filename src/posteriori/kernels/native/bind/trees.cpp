#include "trees.hpp"

#include "threads.hpp"
#include "watch.hpp"

namespace {

using namespace coded;
using posteriori::Growth;

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "grow_trees",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const Classes& y, int K, const Numbers& weights, int criterion,
           int tried, bool drawn, int max_depth, double least, const InC<std::uint64_t, 1>& seeds, bool bagged, int threads,
           const nb::object& tell) {
            const auto rows = rows_of<C>(codes, sizes, named, true);
            need_classes(y, rows.n, K);
            const auto running = running_sums(weights, rows.n);
            need(criterion >= 0 && criterion <= 2 && tried >= 0 && max_depth >= 0, "no such way to grow");
            const Growth how{static_cast<posteriori::Criterion>(criterion), tried, drawn, max_depth, least};
            std::vector<CountTree> grown(seeds.shape(0));
            std::vector<std::vector<float>> narrow(grown.size());  // whole numbers, of bags
            std::vector<std::vector<double>> wide(grown.size());
            std::atomic<std::size_t> done{0};
            {
                nb::gil_scoped_release release;
                posteriori::Watch watch(ending(tell, done));
                posteriori::parallel_for(grown.size(), threads, [&](std::size_t t) {
                    watch();
                    std::vector<double> bag;
                    const double* own = weights ? weights->data() : nullptr;
                    if (bagged) {
                        bag.resize(rows.n);
                        posteriori::draw_bag(rows.n, weights ? running.data() : nullptr, seeds.data()[t], bag.data());
                        own = bag.data();
                    }
                    grown[t] = posteriori::grow_tree<C>(rows, y.data(), K, own, how, seeds.data()[t], watch);
                    std::vector<double> counts;
                    counts.swap(grown[t].counts);
                    if (bagged)
                        narrow[t].assign(counts.begin(), counts.end());
                    else
                        wide[t].swap(counts);
                    ++done;
                });
            }
            const auto classes = static_cast<std::size_t>(K);
            return bagged ? Trees<float>(grown, narrow).held(classes) : Trees<double>(grown, wide).held(classes);
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("y").noconvert(), nb::arg("K"),
        nb::arg("weights").noconvert().none(), nb::arg("criterion"), nb::arg("tried"), nb::arg("drawn"), nb::arg("max_depth"), nb::arg("least"),
        nb::arg("seeds").noconvert(), nb::arg("bagged"), nb::arg("threads"), nb::arg("tell") = nb::none());
    m.def(
        "tree_leaves",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, OutC<std::int32_t, 2> out, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            Held(held).with(sizes, named, [&](const auto& forest) {
                need(out.shape(0) == forest.trees && out.shape(1) == rows.n, "a node a tree and row is needed");
                nb::gil_scoped_release release;
                posteriori::tree_leaves(rows, forest, out.data(), threads);
            });
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "path_counts",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, const Classes& y, const Numbers& weights,
           OutC<double, 2> out) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            need(!weights || weights->shape(0) == rows.n, "weights and rows have different lengths");
            const Held trees(held);
            const auto forest = trees.forest(nb::cast<InC<double, 2>>(trees.counts, false), sizes, named);
            need_classes(y, rows.n, forest.K);
            need(forest.trees == 1 && out.shape(0) == trees.column.shape(0) && static_cast<int>(out.shape(1)) == forest.K, "counts of one tree");
            nb::gil_scoped_release release;
            posteriori::path_counts(rows, forest, y.data(), weights ? weights->data() : nullptr, out.data());
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("y").noconvert(),
        nb::arg("weights").noconvert().none(), nb::arg("out").noconvert());
    m.def(
        "forest_sums",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, double c, double between,
           const Bits& bags, OutC<double, 2> out, OutC<std::uint32_t, 1> used, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            need(c >= 0 && between >= 0 && std::isfinite(c * between), "concentrations are finite, and not negative");
            need(used.shape(0) == rows.n, "a count a row is needed");
            Held(held).with(sizes, named, [&](const auto& forest) {
                need(out.shape(0) == rows.n && out.shape(1) == static_cast<std::size_t>(forest.K), "a posterior a row is needed");
                const auto* in = bags_of(bags, forest.trees, rows.n);
                nb::gil_scoped_release release;
                posteriori::forest_sums(rows, forest, c, between, in, out.data(), used.data(), threads);
            });
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("c"), nb::arg("between"),
        nb::arg("bags").noconvert().none(), nb::arg("out").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"));
    m.def(
        "forest_truth",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, const Classes& y, const std::vector<double>& cs,
           double between, const Bits& bags, OutC<double, 2> out, OutC<std::uint32_t, 1> used, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            for (const double c : cs) need(c >= 0 && between >= 0 && std::isfinite(c * between), "concentrations are finite, and not negative");
            need(used.shape(0) == rows.n && out.shape(0) == rows.n && out.shape(1) == cs.size(), "a number a row and concentration is needed");
            Held(held).with(sizes, named, [&](const auto& forest) {
                need_classes(y, rows.n, forest.K);
                const auto* in = bags_of(bags, forest.trees, rows.n);
                nb::gil_scoped_release release;
                posteriori::forest_truth(rows, forest, y.data(), cs, between, in, out.data(), used.data(), threads);
            });
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("y").noconvert(), nb::arg("cs"),
        nb::arg("between"), nb::arg("bags").noconvert().none(), nb::arg("out").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_trees(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    m.def(
        "draw_bags",  // the rows that each seed's bag has, a bit each
        [](const Numbers& weights, const InC<std::uint64_t, 1>& seeds, std::size_t n, OutC<std::uint64_t, 2> out, int threads) {
            const auto running = running_sums(weights, n);
            const std::size_t words = (n + 63) / 64;
            need(out.shape(0) == seeds.shape(0) && out.shape(1) == words, "bags are of every tree and row");
            nb::gil_scoped_release release;
            posteriori::parallel_for(seeds.shape(0), threads, [&](std::size_t t) {
                std::vector<double> bag(n);
                posteriori::draw_bag(n, weights ? running.data() : nullptr, seeds.data()[t], bag.data());
                std::uint64_t* own = out.data() + t * words;
                std::fill(own, own + words, 0);
                for (std::size_t r = 0; r < n; ++r) own[r / 64] |= std::uint64_t{bag[r] > 0} << (r % 64);
            });
        },
        nb::arg("weights").noconvert().none(), nb::arg("seeds").noconvert(), nb::arg("n"), nb::arg("out").noconvert(), nb::arg("threads"));
}
