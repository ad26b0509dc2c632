// What the bindings of trees share: coded rows and trees as `kernels.trees` has them, checked.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "trees/trees.hpp"

namespace coded {

using posteriori::CodedRows;
using posteriori::CountTree;
using posteriori::Forest;
using Numbers = std::optional<InC<double, 1>>;
using Classes = InC<std::uint32_t, 1>;
using Bits = std::optional<InC<std::uint64_t, 2>>;
using Ints = std::vector<std::int32_t>;
using Flags = std::vector<std::uint8_t>;

// Of `kernels.trees`: an object of that class with these parts.
inline nb::object made(const char* name, const nb::tuple& parts) {
    return nb::steal(PyObject_CallObject(nb::module_::import_("posteriori.kernels.trees").attr(name).ptr(), parts.ptr()));
}

// An attribute that is an array as the kernels read it.
template <typename Array> void read(nb::handle object, const char* name, Array& array) {
    if (!nb::try_cast(object.attr(name), array, false)) throw nb::next_overload();
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

// `Codes`: coded rows [column, row], the size of each column, and whether its values are names.
template <typename C> struct Coded {
    InC<C, 2> cells;
    Ints sizes;
    Flags named;
    explicit Coded(nb::handle codes) : sizes(nb::cast<Ints>(codes.attr("sizes"))) {
        read(codes, "cells", cells);
        for (const bool name : nb::cast<std::vector<bool>>(codes.attr("named"))) named.push_back(name);
    }
    CodedRows<C> rows(bool known) const { return rows_of<C>(cells, sizes, named, known); }
};

inline void need_classes(const Classes& y, std::size_t n, int K) {
    need(y.shape(0) == n && K > 0, "a class a row is needed");
    need(std::all_of(y.data(), y.data() + n, [&](auto c) { return c < static_cast<std::uint32_t>(K); }), "no such class");
}

inline std::vector<double> running_sums(const Numbers& weights, std::size_t n) {
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

// Ctrl-C ends the work; `tell`, where it is a function, hears now and then how many are done.
inline auto ending(const nb::object& tell, const std::atomic<std::size_t>& done) {
    return [&tell, &done] {
        look_at_signals();
        nb::gil_scoped_acquire hold;
        if (!tell.is_none()) tell(done.load());
    };
}

// `Trees`: every index within its bounds and every way downwards.
struct Held {
    InC<std::int64_t, 1> starts, bit_starts;
    InC<std::int32_t, 1> column, cut, child;
    nb::object counts;
    InC<std::uint64_t, 1> bits;

    explicit Held(nb::handle trees) : counts(trees.attr("counts")) {
        read(trees, "starts", starts), read(trees, "bit_starts", bit_starts), read(trees, "column", column), read(trees, "cut", cut);
        read(trees, "child", child), read(trees, "bits", bits);
    }

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
    template <typename Call> auto with(const Ints& sizes, const Flags& named, Call&& call) const {
        InC<float, 2> narrow;
        return nb::try_cast(counts, narrow, false) ? call(forest<float>(narrow, sizes, named))
                                                   : call(forest<double>(nb::cast<InC<double, 2>>(counts, false), sizes, named));
    }
};

inline const std::uint64_t* bags_of(const Bits& bags, std::size_t trees, std::size_t n) {
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

    nb::object held(std::size_t K) {
        const std::size_t nodes = column.size(), ends = starts.size(), words = bits.size();
        return made("Trees", nb::make_tuple(owned(std::move(starts), {ends}), owned(std::move(bit_starts), {ends}), owned(std::move(column), {nodes}),
                              owned(std::move(cut), {nodes}), owned(std::move(child), {nodes}), owned(std::move(counts), {nodes, K}),
                              owned(std::move(bits), {words})));
    }
};

}  // namespace coded
