#include "trees/members.hpp"
#include "trees/trees.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <utility>

#include "bind.hpp"
#include "threads.hpp"
#include "watch.hpp"

namespace {

using posteriori::CodedRows;
using posteriori::CountTree;
using posteriori::Forest;
using posteriori::Growth;
using posteriori::Member;
using posteriori::Members;
using Numbers = std::optional<InC<double, 1>>;
using Classes = InC<std::uint32_t, 1>;
using Bits = std::optional<InC<std::uint64_t, 2>>;
using Ints = std::vector<std::int32_t>;
using Flags = std::vector<std::uint8_t>;

template <typename T> nb::object owned(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

// A code that is not below its column's size is a value that training did not have, which training itself (`known`) has not.
template <typename C> CodedRows<C> rows_of(const InC<C, 2>& codes, const Ints& sizes, const Flags& named, bool known) {
    const std::size_t d = codes.shape(0), n = codes.shape(1);
    need(sizes.size() == d && named.size() == d && d > 0, "a size and a kind a column are needed");
    need(n < (std::size_t{1} << 31), "more than 2³¹ rows");
    for (std::size_t j = 0; j < d; ++j) {
        need(sizes[j] > 0 && sizes[j] <= 65536, "a column has 1 to 65536 values");
        const C* column = codes.data() + j * n;
        for (std::size_t r = 0; known && r < n; ++r) need(column[r] < sizes[j], "a code is too large for its column");
    }
    return {codes.data(), n, sizes, named};
}

void need_classes(const Classes& y, std::size_t n, int K) {
    need(y.shape(0) == n && K > 0, "a class a row is needed");
    need(std::all_of(y.data(), y.data() + n, [&](auto c) { return c < static_cast<std::uint32_t>(K); }), "no such class");
}

std::vector<double> running_sums(const Numbers& weights, std::size_t n) {
    need(n > 0 && (!weights || weights->shape(0) == n), "a weight a row is needed");
    std::vector<double> running;
    for (std::size_t r = 0; weights && r < n; ++r) {
        const double w = weights->data()[r];
        need(w >= 0 && std::isfinite(w), "weights are finite, and not negative");
        running.push_back((running.empty() ? 0.0 : running.back()) + w);
    }
    need(!weights || (running.back() > 0 && std::isfinite(running.back())), "no row has weight, or too much");
    return running;
}

// Ctrl-C ends the work between two trees; `tell`, where it is a function, hears now and then how many are done.
auto ending(const nb::object& tell, const std::atomic<std::size_t>& done) {
    return [&tell, &done] {
        nb::gil_scoped_acquire hold;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!tell.is_none()) tell(done.load());
    };
}

// The forest's arrays as `kernels.trees` has them, every index within its bounds and every way downwards.
struct Held {
    InC<std::int64_t, 1> starts, bit_starts;
    InC<std::int32_t, 1> column, cut, child;
    nb::object counts;
    InC<std::uint64_t, 1> bits;

    explicit Held(const nb::tuple& t)
        : starts(nb::cast<InC<std::int64_t, 1>>(t[0], false)), bit_starts(nb::cast<InC<std::int64_t, 1>>(t[1], false)),
          column(nb::cast<InC<std::int32_t, 1>>(t[2], false)), cut(nb::cast<InC<std::int32_t, 1>>(t[3], false)),
          child(nb::cast<InC<std::int32_t, 1>>(t[4], false)), counts(t[5]), bits(nb::cast<InC<std::uint64_t, 1>>(t[6], false)) {}

    template <typename N> Forest<N> forest(const InC<N, 2>& own, const Ints& sizes, const Flags& named) const {
        need(starts.shape(0) > 0 && bit_starts.shape(0) == starts.shape(0), "trees begin somewhere");
        const std::size_t trees = starts.shape(0) - 1, nodes = column.shape(0);
        need(cut.shape(0) == nodes && child.shape(0) == nodes && own.shape(0) == nodes && own.shape(1) > 0, "a node has all its parts");
        const auto *from = starts.data(), *bit = bit_starts.data();
        need(from[0] == 0 && from[trees] == static_cast<std::int64_t>(nodes) && bit[0] == 0 &&
                 bit[trees] == static_cast<std::int64_t>(bits.shape(0)), "trees lie end to end");
        for (std::size_t t = 0; t < trees; ++t) {
            need(from[t] < from[t + 1] && bit[t] <= bit[t + 1], "a tree has a node");
            const std::int64_t n = from[t + 1] - from[t], words = bit[t + 1] - bit[t];
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int32_t j = column.data()[from[t] + i];
                if (j < 0) continue;
                const std::int64_t to = child.data()[from[t] + i], at = cut.data()[from[t] + i];
                need(static_cast<std::size_t>(j) < sizes.size() && to > i && to + 1 < n, "a node's child comes after it");
                need(!named[j] || (at >= 0 && at + 2 * ((sizes[j] + 63) / 64) <= words), "a split's values are in its tree");
            }
        }
        return {from, bit, trees, column.data(), cut.data(), child.data(), own.data(), bits.data(), static_cast<int>(own.shape(1))};
    }

    // call(the forest), its counts held as they are.
    template <typename Call> void with(const Ints& sizes, const Flags& named, Call&& call) const {
        InC<float, 2> narrow;
        if (nb::try_cast(counts, narrow, false))
            call(forest<float>(narrow, sizes, named));
        else
            call(forest<double>(nb::cast<InC<double, 2>>(counts, false), sizes, named));
    }
};

const std::uint64_t* bags_of(const Bits& bags, std::size_t trees, std::size_t n) {
    need(!bags || (bags->shape(0) == trees && bags->shape(1) == (n + 63) / 64), "bags are of every tree and row");
    return bags ? bags->data() : nullptr;
}

// Trees end to end, their counts as N.
template <typename N> struct Trees {
    std::vector<std::int64_t> starts{0}, bit_starts{0};
    Ints column, cut, child;
    std::vector<N> counts;
    std::vector<std::uint64_t> bits;

    // The counts of tree t are own[t]; what has been joined is let go.
    Trees(std::vector<CountTree>& trees, std::vector<std::vector<N>>& own) {
        std::size_t nodes = 0, words = 0, cells = 0;
        for (std::size_t t = 0; t < trees.size(); ++t) nodes += trees[t].column.size(), words += trees[t].bits.size(), cells += own[t].size();
        column.reserve(nodes), cut.reserve(nodes), child.reserve(nodes), bits.reserve(words), counts.reserve(cells);
        const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        for (std::size_t t = 0; t < trees.size(); ++t) {
            join(column, trees[t].column), join(cut, trees[t].cut), join(child, trees[t].child), join(bits, trees[t].bits);
            join(counts, own[t]);
            starts.push_back(static_cast<std::int64_t>(column.size()));
            bit_starts.push_back(static_cast<std::int64_t>(bits.size()));
            trees[t] = {}, own[t] = {};
        }
    }

    nb::tuple held(std::size_t K) {
        const std::size_t nodes = column.size(), ends = starts.size(), words = bits.size();
        return nb::make_tuple(owned(std::move(starts), {ends}), owned(std::move(bit_starts), {ends}), owned(std::move(column), {nodes}),
                              owned(std::move(cut), {nodes}), owned(std::move(child), {nodes}), owned(std::move(counts), {nodes, K}),
                              owned(std::move(bits), {words}));
    }
};

std::vector<std::int64_t> first_cells(const Ints& sizes) {
    std::vector<std::int64_t> first{0};
    for (const auto size : sizes) first.push_back(first.back() + size);
    return first;
}

// The members' arrays as `kernels.trees` has them: every value, parent and table where it should be.
struct HeldMembers {
    InC<std::uint16_t, 2> values;
    InC<std::int32_t, 2> sizes;
    InC<std::int32_t, 3> parents;
    InC<std::int64_t, 2> starts;
    InC<float, 1> tables;
    InC<float, 2> prior;

    explicit HeldMembers(const nb::tuple& t)
        : values(nb::cast<InC<std::uint16_t, 2>>(t[0], false)), sizes(nb::cast<InC<std::int32_t, 2>>(t[1], false)),
          parents(nb::cast<InC<std::int32_t, 3>>(t[2], false)), starts(nb::cast<InC<std::int64_t, 2>>(t[3], false)),
          tables(nb::cast<InC<float, 1>>(t[4], false)), prior(nb::cast<InC<float, 2>>(t[5], false)) {}

    Members members(const std::vector<std::int64_t>& first) const {
        const std::size_t M = values.shape(0), d = first.size() - 1, K = prior.shape(1);
        need(values.shape(1) == static_cast<std::size_t>(first[d]) && sizes.shape(0) == M && sizes.shape(1) == d && parents.shape(0) == M &&
                 parents.shape(1) == d && parents.shape(2) == 2 && starts.shape(0) == M && starts.shape(1) == d + 1 && prior.shape(0) == M && K > 0,
             "a member has all its parts");
        std::int64_t end = 0;
        for (std::size_t t = 0; t < M; ++t) {
            const std::int32_t *V = sizes.data() + t * d, *above = parents.data() + t * 2 * d;
            const std::int64_t* from = starts.data() + t * (d + 1);
            need(from[0] == end, "tables lie end to end");
            for (std::size_t j = 0; j < d; ++j) {
                need(V[j] > 0 && V[j] <= 65536, "a column has 1 to 65536 values");
                for (std::int64_t c = first[j]; c < first[j + 1]; ++c)
                    need(values.data()[t * first[d] + c] < V[j] || values.data()[t * first[d] + c] == posteriori::NONE, "no such value");
                double room = static_cast<double>(V[j]) * K, rung = room;
                for (int l = 0; l < 2 && above[2 * j + l] >= 0; ++l) {
                    need(static_cast<std::size_t>(above[2 * j + l]) < d, "no such parent");
                    room += rung *= V[above[2 * j + l]];
                }
                need(static_cast<double>(from[j + 1] - from[j]) == room, "a column has the tables of its parents");
            }
            end = from[d];
        }
        need(end == static_cast<std::int64_t>(tables.shape(0)), "tables lie end to end");
        return {M, values.data(), sizes.data(), parents.data(), starts.data(), tables.data(), prior.data(), static_cast<int>(K)};
    }
};

template <typename C> void bind_members(nb::module_& m) {
    m.def(
        "grow_members",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const Flags& blank, const Classes& y, int K, const Numbers& weights,
           std::size_t most, const InC<std::uint64_t, 1>& seeds, int threads, const nb::object& tell) {
            const auto rows = rows_of<C>(codes, sizes, named, true);
            need_classes(y, rows.n, K);
            need(blank.size() == sizes.size(), "a word on missing cells a column is needed");
            const auto running = running_sums(weights, rows.n);
            const auto first = first_cells(sizes);
            const std::size_t d = sizes.size(), M = seeds.shape(0);
            std::vector<double> weight(first[d], 0.0);
            for (std::size_t j = 0; j < d; ++j)
                for (std::size_t r = 0; r < rows.n; ++r) weight[first[j] + rows.column(static_cast<int>(j))[r]] += weights ? weights->data()[r] : 1.0;
            std::vector<Member> grown(M);
            std::atomic<std::size_t> done{0};
            {
                nb::gil_scoped_release release;
                posteriori::Watch watch(ending(tell, done));
                posteriori::parallel_for(M, threads, [&](std::size_t t) {
                    watch();
                    std::vector<double> bag(rows.n);
                    posteriori::draw_bag(rows.n, weights ? running.data() : nullptr, seeds.data()[t], bag.data());
                    grown[t] = posteriori::grow_member<C>(rows, blank.data(), first.data(), weight.data(), y.data(), K, bag.data(), most,
                                                          seeds.data()[t]);
                    ++done;
                });
            }
            Member all;
            for (auto& one : grown) {
                const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
                for (auto& start : one.starts) start += static_cast<std::int64_t>(all.tables.size());
                join(all.values, one.values), join(all.sizes, one.sizes), join(all.parents, one.parents), join(all.starts, one.starts);
                join(all.tables, one.tables), join(all.prior, one.prior);
                one = {};
            }
            const std::size_t room = all.tables.size();
            return nb::make_tuple(owned(std::move(all.values), {M, static_cast<std::size_t>(first[d])}), owned(std::move(all.sizes), {M, d}),
                                  owned(std::move(all.parents), {M, d, 2}), owned(std::move(all.starts), {M, d + 1}),
                                  owned(std::move(all.tables), {room}), owned(std::move(all.prior), {M, static_cast<std::size_t>(K)}));
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("blank"), nb::arg("y").noconvert(), nb::arg("K"),
        nb::arg("weights").noconvert().none(), nb::arg("most"), nb::arg("seeds").noconvert(), nb::arg("threads"), nb::arg("tell") = nb::none());
    m.def(
        "member_sums",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, const Bits& bags, OutC<double, 2> out,
           OutC<std::uint32_t, 1> used, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            const auto first = first_cells(sizes);
            const HeldMembers kept(held);
            const Members members = kept.members(first);
            need(used.shape(0) == rows.n && out.shape(0) == rows.n && static_cast<int>(out.shape(1)) == members.K, "a posterior a row is needed");
            const auto* in = bags_of(bags, members.members, rows.n);
            nb::gil_scoped_release release;
            posteriori::member_sums(rows, first.data(), members, in, out.data(), used.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("members"), nb::arg("bags").noconvert().none(),
        nb::arg("out").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"));
}

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
                    grown[t] = posteriori::grow_tree<C>(rows, y.data(), K, own, how, seeds.data()[t]);
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
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, double c, const Bits& bags,
           OutC<double, 2> out, OutC<std::uint32_t, 1> used, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            need(c >= 0 && std::isfinite(c), "concentrations are finite, and not negative");
            need(used.shape(0) == rows.n, "a count a row is needed");
            Held(held).with(sizes, named, [&](const auto& forest) {
                need(out.shape(0) == rows.n && out.shape(1) == static_cast<std::size_t>(forest.K), "a posterior a row is needed");
                const auto* in = bags_of(bags, forest.trees, rows.n);
                nb::gil_scoped_release release;
                posteriori::forest_sums(rows, forest, c, in, out.data(), used.data(), threads);
            });
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("c"), nb::arg("bags").noconvert().none(),
        nb::arg("out").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"));
    m.def(
        "forest_truth",
        [](const InC<C, 2>& codes, const Ints& sizes, const Flags& named, const nb::tuple& held, const Classes& y, const std::vector<double>& cs,
           const Bits& bags, OutC<double, 2> out, OutC<std::uint32_t, 1> used, int threads) {
            const auto rows = rows_of<C>(codes, sizes, named, false);
            for (const double c : cs) need(c >= 0 && std::isfinite(c), "concentrations are finite, and not negative");
            need(used.shape(0) == rows.n && out.shape(0) == rows.n && out.shape(1) == cs.size(), "a number a row and concentration is needed");
            Held(held).with(sizes, named, [&](const auto& forest) {
                need_classes(y, rows.n, forest.K);
                const auto* in = bags_of(bags, forest.trees, rows.n);
                nb::gil_scoped_release release;
                posteriori::forest_truth(rows, forest, y.data(), cs, in, out.data(), used.data(), threads);
            });
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("named"), nb::arg("forest"), nb::arg("y").noconvert(), nb::arg("cs"),
        nb::arg("bags").noconvert().none(), nb::arg("out").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_trees(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    bind_members<std::uint8_t>(m);
    bind_members<std::uint16_t>(m);
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
