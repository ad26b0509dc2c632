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

// A vector becomes a NumPy array that owns it, without a copy.
template <typename T, typename A> nb::object array(std::vector<T, A>&& data, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T, A>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, A>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

template <typename T> void need_points(const InC<T, 2>& X) {
    need(X.shape(0) > 0 && X.shape(1) > 0, "there are no points");
    need(X.shape(0) < kdtree::nobody && X.shape(1) < kdtree::nobody, "points are numbered in 31 bits");
}

// Queries, who is left out, and where the answers go.
template <typename T>
void need_query(std::size_t d, const InC<T, 2>& Q, const I32& skip, const OutC<T, 2>& distance, const OutC<std::int64_t, 2>& index) {
    need(Q.shape(1) == d && Q.shape(0) < kdtree::nobody, "queries and points differ in their columns");
    need(skip.shape(0) == 0 || skip.shape(0) == Q.shape(0), "skip has a row for every query, or none");
    need(distance.shape(1) > 0 && distance.shape(1) < kdtree::nobody, "at least one neighbour is sought");
    need(distance.shape(0) == Q.shape(0) && index.shape(0) == Q.shape(0) && index.shape(1) == distance.shape(1),
         "distance and index are not (queries, neighbours)");
}

Metric metric_of(int metric) {
    need(metric >= 0 && metric <= static_cast<int>(Metric::minkowski), "no such metric");
    return Metric(metric);
}

template <typename T> nb::tuple bounds(InC<T, 2> X, int threads) {
    need_points<T>(X);
    const std::size_t d = X.shape(1);
    std::vector<T> lo(d), hi(d);
    bool finite;
    {
        nb::gil_scoped_release free;
        finite = kdtree::bounds(X.data(), std::int64_t(X.shape(0)), int(d), lo.data(), hi.data(), threads);
    }
    return nb::make_tuple(array(std::move(lo), {d}), array(std::move(hi), {d}), finite);
}

template <typename T> nb::tuple build(InC<T, 2> X, double scale, int leaf_size, int threads) {
    need_points<T>(X);
    need(leaf_size > 0, "a leaf holds at least one point");
    const std::size_t d = X.shape(1);
    kdtree::Tree<T> t;
    {
        nb::gil_scoped_release free;
        t = kdtree::build(X.data(), std::int64_t(X.shape(0)), int(d), T(scale), leaf_size, threads);
    }
    const std::size_t nodes = t.dim.size(), leaves = t.leaf_count.size(), blocks = t.ids.size() / W;
    const std::size_t wide = t.wide_child.size() / W;
    return nb::make_tuple(array(std::move(t.dim), {nodes}), array(std::move(t.value), {nodes}),
                          array(std::move(t.right), {nodes}), array(std::move(t.lo), {nodes, d}),
                          array(std::move(t.hi), {nodes, d}), array(std::move(t.leaf_block), {leaves + 1}),
                          array(std::move(t.leaf_count), {leaves}), array(std::move(t.blocks), {blocks, d, W}),
                          array(std::move(t.ids), {blocks, W}), array(std::move(t.wide_box), {wide, 2, d, W}),
                          array(std::move(t.wide_child), {wide, W}), array(std::move(t.centre), {d}), t.unit);
}

template <typename T>
kdtree::View<T> view(const I32& dim, const InC<T, 1>& value, const I32& right, const I32& leaf_block,
                     const I32& leaf_count, const InC<T, 3>& blocks, const InC<std::int32_t, 2>& ids,
                     const InC<float, 4>& wide_box, const InC<std::int32_t, 2>& wide_child, const InC<double, 1>& centre,
                     double unit, int leaf_size) {
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

template <typename T>
void tree_nearest(I32 dim, InC<T, 1> value, I32 right, I32 leaf_block, I32 leaf_count, InC<T, 3> blocks,
                  InC<std::int32_t, 2> ids, InC<float, 4> wide_box, InC<std::int32_t, 2> wide_child, InC<double, 1> centre,
                  double unit, int leaf_size, InC<T, 2> Q, I32 skip, int metric, double p, int threads,
                  OutC<T, 2> distance, OutC<std::int64_t, 2> index) {
    const auto tree = view(dim, value, right, leaf_block, leaf_count, blocks, ids, wide_box, wide_child, centre, unit, leaf_size);
    need_query<T>(blocks.shape(1), Q, skip, distance, index);
    const Ask ask{metric_of(metric), p, threads, look_at_signals};
    nb::gil_scoped_release free;
    kdtree::nearest(tree, Q.data(), std::int64_t(Q.shape(0)), int(distance.shape(1)),
                    skip.shape(0) ? skip.data() : nullptr, ask, distance.data(), index.data());
}

template <typename T>
nb::tuple tree_within(I32 dim, InC<T, 1> value, I32 right, I32 leaf_block, I32 leaf_count, InC<T, 3> blocks,
                      InC<std::int32_t, 2> ids, InC<float, 4> wide_box, InC<std::int32_t, 2> wide_child,
                      InC<double, 1> centre, double unit, int leaf_size, InC<T, 2> Q, InC<T, 1> radius, int metric,
                      double p, int threads, bool list) {
    const auto tree = view(dim, value, right, leaf_block, leaf_count, blocks, ids, wide_box, wide_child, centre, unit, leaf_size);
    const std::size_t m = Q.shape(0);
    need(Q.shape(1) == blocks.shape(1) && m < kdtree::nobody, "queries and points differ in their columns");
    need(radius.shape(0) == m, "every query has a radius");
    const Ask ask{metric_of(metric), p, threads, look_at_signals};
    std::vector<std::int64_t> start(m + 1);
    std::vector<std::int32_t> id;
    std::vector<T> distance;
    {
        nb::gil_scoped_release free;
        std::vector<std::vector<std::int32_t>> found(list ? m : 0);
        std::vector<std::vector<T>> far(list ? m : 0);
        kdtree::within(tree, Q.data(), std::int64_t(m), radius.data(), ask, start.data() + 1, list ? &found : nullptr, list ? &far : nullptr);
        if (list) {
            for (std::size_t i = 0; i < m; ++i) start[i + 1] += start[i];
            id.reserve(start[m]), distance.reserve(start[m]);
            for (std::size_t i = 0; i < m; ++i) {
                id.insert(id.end(), found[i].begin(), found[i].end());
                distance.insert(distance.end(), far[i].begin(), far[i].end());
            }
        }
    }
    const std::size_t all = id.size();
    return nb::make_tuple(array(std::move(start), {m + 1}), array(std::move(id), {all}), array(std::move(distance), {all}));
}

template <typename T> nb::tuple brute_panel(InC<T, 2> X, InC<T, 1> lo, InC<T, 1> hi, int threads) {
    need_points<T>(X);
    const std::size_t d = X.shape(1);
    need(lo.shape(0) == d && hi.shape(0) == d, "lo and hi have a number for every column");
    brute::Panel p;
    {
        nb::gil_scoped_release free;
        p = brute::panel(X.data(), std::int64_t(X.shape(0)), int(d), lo.data(), hi.data(), threads);
    }
    const std::size_t blocks = p.half.size() / 16;
    return nb::make_tuple(array(std::move(p.blocks), {blocks, d, 16}), array(std::move(p.half), {blocks, 16}),
                          array(std::move(p.centre), {d}), p.unit, p.largest);
}

template <typename T>
void brute_nearest(InC<T, 2> X, InC<float, 3> blocks, InC<float, 2> half, InC<double, 1> centre, double unit,
                   float largest, InC<T, 2> Q, I32 skip, int threads, OutC<T, 2> distance, OutC<std::int64_t, 2> index) {
    need_points<T>(X);
    need_query<T>(X.shape(1), Q, skip, distance, index);
    need(half.shape(0) == (X.shape(0) + 15) / 16 && half.shape(1) == 16 && blocks.shape(0) == half.shape(0) &&
             blocks.shape(1) == X.shape(1) && blocks.shape(2) == 16 && centre.shape(0) == X.shape(1),
         "the panel is not that of the points");
    nb::gil_scoped_release free;
    brute::nearest(X.data(), std::int64_t(X.shape(0)), int(X.shape(1)), blocks.data(), half.data(), centre.data(), unit,
                   largest, Q.data(), std::int64_t(Q.shape(0)), int(distance.shape(1)),
                   skip.shape(0) ? skip.data() : nullptr, Ask{Metric::euclidean, 2, threads, look_at_signals}, distance.data(),
                   index.data());
}

template <typename T> void bind_all(nb::module_& m) {
    auto a = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("neighbor_bounds", bounds<T>, a("X"), nb::arg("threads"));
    m.def("kdtree_build", build<T>, a("X"), nb::arg("scale"), nb::arg("leaf_size"), nb::arg("threads"));
    m.def("kdtree_nearest", tree_nearest<T>, a("dim"), a("value"), a("right"), a("leaf_block"), a("leaf_count"),
          a("blocks"), a("ids"), a("wide_box"), a("wide_child"), a("centre"), nb::arg("unit"), nb::arg("leaf_size"),
          a("Q"), a("skip"), nb::arg("metric"), nb::arg("p"), nb::arg("threads"), a("distance"), a("index"));
    m.def("kdtree_within", tree_within<T>, a("dim"), a("value"), a("right"), a("leaf_block"), a("leaf_count"),
          a("blocks"), a("ids"), a("wide_box"), a("wide_child"), a("centre"), nb::arg("unit"), nb::arg("leaf_size"),
          a("Q"), a("radius"), nb::arg("metric"), nb::arg("p"), nb::arg("threads"), nb::arg("list"));
    m.def("brute_panel", brute_panel<T>, a("X"), a("lo"), a("hi"), nb::arg("threads"));
    m.def("brute_nearest", brute_nearest<T>, a("X"), a("blocks"), a("half"), a("centre"), nb::arg("unit"),
          nb::arg("largest"), a("Q"), a("skip"), nb::arg("threads"), a("distance"), a("index"));
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    bind_all<double>(m);
    bind_all<float>(m);
}
