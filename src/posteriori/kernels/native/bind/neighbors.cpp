#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "neighbors/kdtree.hpp"
#include "neighbors/brute.hpp"
#include "bind.hpp"

namespace {

using namespace posteriori;
using kdtree::Ask;
using kdtree::Metric;
using kdtree::W;
using I32 = InC<std::int32_t, 1>;

template <typename T> void need_points(const InC<T, 2>& X) {
    need(X.shape(0) > 0 && X.shape(1) > 0, "there are no points");
    need(X.shape(0) < kdtree::nobody && X.shape(1) < kdtree::nobody, "points are numbered in 31 bits");
}

// Queries, and who is left out: a row for every query, or None.
template <typename T> void need_query(std::size_t d, const InC<T, 2>& Q, const std::optional<I32>& skip, std::size_t k) {
    need(Q.shape(1) == d && Q.shape(0) < kdtree::nobody, "queries and points differ in their columns");
    need(!skip || skip->shape(0) == Q.shape(0), "skip has a row for every query, or none");
    need(k > 0 && k < kdtree::nobody, "at least one neighbour is sought");
}

Metric metric_of(const std::string& metric) {
    constexpr const char* names[] = {"euclidean", "manhattan", "chebyshev", "minkowski"};
    const auto* at = std::find(std::begin(names), std::end(names), metric);
    need(at != std::end(names), "no such metric");
    return Metric(at - std::begin(names));
}

template <typename T> nb::tuple bounds(InC<T, 2> X, nb::handle n_jobs) {
    need_points<T>(X);
    const std::size_t d = X.shape(1);
    const int threads = team(n_jobs, X.size());
    const auto lo = empty<T>({d}), hi = empty<T>({d});
    const bool finite = without_gil([&] { return kdtree::bounds(X.data(), std::int64_t(X.shape(0)), int(d), lo.data, hi.data, threads); });
    return nb::make_tuple(lo.array, hi.array, finite);
}

template <typename T> nb::tuple build(InC<T, 2> X, double scale, int leaf_size, nb::handle n_jobs) {
    need_points<T>(X);
    need(leaf_size > 0, "a leaf holds at least one point");
    const std::size_t d = X.shape(1);
    const int threads = team(n_jobs, X.shape(0) * (12 + d), 50'000);  // dimensions cost less than points
    auto t = without_gil([&] { return kdtree::build(X.data(), std::int64_t(X.shape(0)), int(d), T(scale), leaf_size, threads); });
    const std::size_t nodes = t.dim.size(), leaves = t.leaf_count.size(), blocks = t.ids.size() / W;
    const std::size_t wide = t.wide_child.size() / W;
    return nb::make_tuple(owned(std::move(t.dim), {nodes}), owned(std::move(t.value), {nodes}),
                          owned(std::move(t.right), {nodes}), owned(std::move(t.lo), {nodes, d}),
                          owned(std::move(t.hi), {nodes, d}), owned(std::move(t.leaf_block), {leaves + 1}),
                          owned(std::move(t.leaf_count), {leaves}), owned(std::move(t.blocks), {blocks, d, W}),
                          owned(std::move(t.ids), {blocks, W}), owned(std::move(t.wide_box), {wide, 2, d, W}),
                          owned(std::move(t.wide_child), {wide, W}), owned(std::move(t.centre), {d}), t.unit);
}

// The arrays of `kernels.neighbors.Flat`: those that a search reads.
template <typename T> struct Held {
    I32 dim, right, leaf_block, leaf_count;
    InC<T, 1> value;
    InC<T, 3> blocks;
    InC<std::int32_t, 2> ids, wide_child;
    InC<float, 4> wide_box;
    InC<double, 1> centre;
    double unit;

    explicit Held(const nb::tuple& flat) {
        need(flat.size() == 13, "these arrays are no tree");
        const auto read = [&](std::size_t i, auto& array) { return nb::try_cast(flat[i], array, false); };
        if (!(read(0, dim) && read(1, value) && read(2, right) && read(5, leaf_block) && read(6, leaf_count) && read(7, blocks) &&
              read(8, ids) && read(9, wide_box) && read(10, wide_child) && read(11, centre) && nb::try_cast(flat[12], unit)))
            throw nb::next_overload();
    }

    kdtree::View<T> view(int leaf_size) const {
        const std::size_t nodes = dim.shape(0), leaves = leaf_count.shape(0), d = blocks.shape(1);
        need(nodes > 0 && value.shape(0) == nodes && right.shape(0) == nodes && leaves > 0 && leaf_block.shape(0) == leaves + 1 &&
                 std::size_t(leaf_block.data()[leaves]) == blocks.shape(0) && d > 0 && blocks.shape(2) == W &&
                 ids.shape(0) == blocks.shape(0) && ids.shape(1) == W && wide_child.shape(1) == W &&
                 wide_box.shape(0) == wide_child.shape(0) && wide_box.shape(1) == 2 && wide_box.shape(2) == d &&
                 wide_box.shape(3) == W && centre.shape(0) == d && leaf_size > 0,
             "these arrays are no tree");
        kdtree::View<T> v{};
        v.d = int(blocks.shape(1));
        v.leaves = std::int64_t(leaf_count.shape(0)), v.wide = std::int64_t(wide_child.shape(0));
        v.dim = dim.data(), v.right = right.data(), v.leaf_block = leaf_block.data(), v.leaf_count = leaf_count.data();
        v.ids = ids.data(), v.wide_child = wide_child.data(), v.value = value.data(), v.blocks = blocks.data();
        v.wide_box = wide_box.data(), v.centre = centre.data(), v.unit = unit, v.leaf_size = leaf_size;
        return v;
    }
};

// Threads for these queries: from a quarter of a millisecond on, a second one is worth its start.
int team_of(nb::handle n_jobs, std::size_t queries, std::size_t d) { return team(n_jobs, queries * (4 + d), 1000); }

template <typename T>
nb::tuple tree_nearest(const nb::tuple& flat, int leaf_size, InC<T, 2> Q, std::size_t k, const std::string& metric, double p,
                       std::optional<I32> skip, nb::handle n_jobs) {
    const Held<T> held(flat);
    const auto tree = held.view(leaf_size);
    need_query<T>(held.blocks.shape(1), Q, skip, k);
    const std::size_t m = Q.shape(0);
    const Ask ask{metric_of(metric), p, team_of(n_jobs, m, Q.shape(1)), look_at_signals};
    const auto distance = empty<T>({m, k});
    const auto index = empty<std::int64_t>({m, k});
    without_gil([&] { kdtree::nearest(tree, Q.data(), std::int64_t(m), int(k), skip ? skip->data() : nullptr, ask, distance.data, index.data); });
    return nb::make_tuple(distance.array, index.array);
}

template <typename T>
nb::object tree_within(const nb::tuple& flat, int leaf_size, const InC<T, 2>& Q, const InC<T, 1>& radius, const std::string& metric,
                       double p, nb::handle n_jobs, bool list) {
    const Held<T> held(flat);
    const auto tree = held.view(leaf_size);
    const std::size_t m = Q.shape(0);
    need(Q.shape(1) == held.blocks.shape(1) && m < kdtree::nobody, "queries and points differ in their columns");
    need(radius.shape(0) == m, "every query has a radius");
    const Ask ask{metric_of(metric), p, team_of(n_jobs, m, Q.shape(1)), look_at_signals};
    std::vector<std::int64_t> start(m + 1), id;
    std::vector<T> distance;
    without_gil([&] {
        std::vector<std::vector<std::int32_t>> found(list ? m : 0);
        std::vector<std::vector<T>> far(list ? m : 0);
        kdtree::within(tree, Q.data(), std::int64_t(m), radius.data(), ask, start.data() + 1, list ? &found : nullptr, list ? &far : nullptr);
        if (!list) return;
        for (std::size_t i = 0; i < m; ++i) start[i + 1] += start[i];
        id.reserve(start[m]), distance.reserve(start[m]);
        for (std::size_t i = 0; i < m; ++i) {
            id.insert(id.end(), found[i].begin(), found[i].end());
            distance.insert(distance.end(), far[i].begin(), far[i].end());
        }
    });
    if (!list) {
        start.erase(start.begin());
        return owned(std::move(start), {m});
    }
    const std::size_t all = id.size();
    return nb::make_tuple(owned(std::move(start), {m + 1}), owned(std::move(id), {all}), owned(std::move(distance), {all}));
}

template <typename T> nb::tuple brute_panel(InC<T, 2> X, InC<T, 1> lo, InC<T, 1> hi, nb::handle n_jobs) {
    need_points<T>(X);
    const std::size_t d = X.shape(1);
    need(lo.shape(0) == d && hi.shape(0) == d, "lo and hi have a number for every column");
    const int threads = team(n_jobs, X.size());
    auto p = without_gil([&] { return brute::panel(X.data(), std::int64_t(X.shape(0)), int(d), lo.data(), hi.data(), threads); });
    const std::size_t blocks = p.half.size() / 16;
    return nb::make_tuple(owned(std::move(p.blocks), {blocks, d, 16}), owned(std::move(p.half), {blocks, 16}),
                          owned(std::move(p.centre), {d}), p.unit, p.largest);
}

template <typename T>
nb::tuple brute_nearest(InC<T, 2> X, const nb::tuple& panel, InC<T, 2> Q, std::size_t k, std::optional<I32> skip, nb::handle n_jobs) {
    need_points<T>(X);
    need_query<T>(X.shape(1), Q, skip, k);
    InC<float, 3> blocks;
    InC<float, 2> half;
    InC<double, 1> centre;
    double unit, largest;
    if (panel.size() != 5 || !nb::try_cast(panel[0], blocks, false) || !nb::try_cast(panel[1], half, false) ||
        !nb::try_cast(panel[2], centre, false) || !nb::try_cast(panel[3], unit) || !nb::try_cast(panel[4], largest))
        throw nb::next_overload();
    need(half.shape(0) == (X.shape(0) + 15) / 16 && half.shape(1) == 16 && blocks.shape(0) == half.shape(0) &&
             blocks.shape(1) == X.shape(1) && blocks.shape(2) == 16 && centre.shape(0) == X.shape(1),
         "the panel is not that of the points");
    const std::size_t m = Q.shape(0);
    const int threads = team(n_jobs, m * X.size(), 5'000'000);
    const auto distance = empty<T>({m, k});
    const auto index = empty<std::int64_t>({m, k});
    without_gil([&] {
        brute::nearest(X.data(), std::int64_t(X.shape(0)), int(X.shape(1)), blocks.data(), half.data(), centre.data(), unit,
                       static_cast<float>(largest), Q.data(), std::int64_t(m), int(k), skip ? skip->data() : nullptr,
                       Ask{Metric::euclidean, 2, threads, look_at_signals}, distance.data, index.data);
    });
    return nb::make_tuple(distance.array, index.array);
}

template <typename T> void bind_all(nb::module_& m) {
    const auto within = [&m](const char* name, auto list) {
        m.def(
            name,
            [](const nb::tuple& tree, int leaf_size, const InC<T, 2>& Q, const InC<T, 1>& radius, const std::string& metric, double p,
               nb::handle n_jobs) { return tree_within<T>(tree, leaf_size, Q, radius, metric, p, n_jobs, decltype(list)::value); },
            nb::arg("tree"), nb::arg("leaf_size"), as_is("Q"), as_is("radius"), nb::arg("metric"), nb::arg("p"), jobs());
    };
    m.def("column_bounds", bounds<T>, as_is("X"), jobs());
    m.def("kdtree_build", build<T>, as_is("X"), nb::arg("scale"), nb::arg("leaf_size"), jobs());
    m.def("kdtree_nearest", tree_nearest<T>, nb::arg("tree"), nb::arg("leaf_size"), as_is("Q"), nb::arg("k"), nb::arg("metric"),
          nb::arg("p"), maybe("skip"), jobs());
    within("kdtree_within", std::true_type{});
    within("kdtree_count", std::false_type{});
    m.def("brute_panel", brute_panel<T>, as_is("X"), as_is("lo"), as_is("hi"), jobs());
    m.def("brute_nearest", brute_nearest<T>, as_is("X"), nb::arg("panel"), as_is("Q"), nb::arg("k"), maybe("skip"), jobs());
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    bind_all<double>(m);
    bind_all<float>(m);
}
