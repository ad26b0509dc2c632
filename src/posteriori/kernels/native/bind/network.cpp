// Networks: elimination orders and the junction tree.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "network/combine.hpp"
#include "network/junction.hpp"
#include "bind.hpp"

using namespace posteriori;

Lists lists_of(const InC<std::int64_t, 1>& offsets, const InC<std::int32_t, 1>& items, std::size_t limit) {
    need(offsets.shape(0) > 0 && offsets.data()[0] == 0, "the lists do not begin at 0");
    Lists lists(offsets.shape(0) - 1);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::int64_t begin = offsets.data()[i], end = offsets.data()[i + 1];
        need(begin <= end && static_cast<std::size_t>(end) <= items.shape(0), "a list reaches beyond the items");
        lists[i].assign(items.data() + begin, items.data() + end);
        for (int item : lists[i]) need(item >= 0 && static_cast<std::size_t>(item) < limit, "an item is out of range");
    }
    return lists;
}

std::vector<int> sizes_of(const InC<std::int32_t, 1>& sizes) {
    for (std::size_t v = 0; v < sizes.shape(0); ++v) need(sizes.data()[v] > 0, "a node has no state");
    return {sizes.data(), sizes.data() + sizes.shape(0)};
}

namespace {

// Cells of a table over these axes; in floating point, where nothing overflows.
double cells_of(const std::vector<int>& axes, const std::vector<int>& sizes) {
    double cells = 1;
    for (int axis : axes) cells *= sizes[axis];
    return cells;
}

void need_node(const Plan& plan, int v) {
    need(v >= 0 && static_cast<std::size_t>(v) < plan.sizes.size(), "no such node");
}

std::vector<int> vector_of(const InC<std::int32_t, 1>& items) { return {items.data(), items.data() + items.shape(0)}; }

// (order, maximal cliques, cells of all steps, nodes of the largest); an order over the budget is empty.
using Order = std::tuple<std::vector<int>, Lists, double, std::vector<int>>;

Order elimination_order(InC<std::int64_t, 1> offsets, InC<std::int32_t, 1> neighbours, InC<std::int32_t, 1> sizes, double budget) {
    const Lists near = lists_of(offsets, neighbours, sizes.shape(0));
    need(near.size() == sizes.shape(0), "every node has a list of neighbours");
    Lists back(near.size());
    for (std::size_t v = 0; v < near.size(); ++v)
        for (int u : near[v]) back[u].push_back(static_cast<int>(v));  // ascending
    for (std::size_t v = 0; v < near.size(); ++v) {
        auto mine = near[v];
        std::sort(mine.begin(), mine.end());
        need(mine == back[v] && std::adjacent_find(mine.begin(), mine.end()) == mine.end() &&
                 !std::binary_search(mine.begin(), mine.end(), static_cast<int>(v)),
             "the graph is not undirected and simple");
    }
    nb::gil_scoped_release release;
    Elimination elimination = best_elimination(near, sizes_of(sizes), budget);
    Lists cliques;
    if (!elimination.order.empty()) cliques = clique_tree(elimination).members;
    return {std::move(elimination.order), std::move(cliques), elimination.cells, std::move(elimination.largest)};
}

// Where the table of each scope begins in `flat`.
std::vector<const double*> tables_of(const Lists& scopes, const std::vector<int>& sizes, const InC<std::int64_t, 1>& offsets,
                                     const InC<double, 1>& flat) {
    need(offsets.shape(0) == scopes.size() + 1, "every factor has a table");
    std::vector<const double*> tables;
    for (std::size_t f = 0; f < scopes.size(); ++f) {
        const std::int64_t begin = offsets.data()[f];
        need(begin >= 0 && static_cast<double>(begin) + cells_of(scopes[f], sizes) <= static_cast<double>(flat.shape(0)),
             "a table is shorter than its scope");
        tables.push_back(flat.data() + begin);
    }
    return tables;
}

// The likelihood vectors of the nodes follow each other in `values`.
void set_findings(State& state, const Plan& plan, InC<std::int32_t, 1> nodes, InC<double, 1> values) {
    need(&plan == &state.plan(), "the plan is not that of the state");
    std::size_t length = 0;
    for (std::size_t i = 0; i < nodes.shape(0); ++i) {
        need_node(plan, nodes.data()[i]);
        length += plan.sizes[nodes.data()[i]];
    }
    need(length == values.shape(0), "the likelihoods are not those of the nodes");
    Findings findings(plan.sizes.size());
    const double* next = values.data();
    for (std::size_t i = 0; i < nodes.shape(0); ++i) {
        const int v = nodes.data()[i];
        findings.add(v, next, plan.sizes[v]);
        next += plan.sizes[v];
    }
    state.set(findings);
}

// The product of factors over the axes of `sizes`, summed (or maximised) onto the axes in `keep`.
// Factor f has the axes scopes[f], in the order of its table; the result has the axes of `keep` in ascending order.
std::pair<double, bool> combine_factors(InC<std::int32_t, 1> sizes, InC<std::int64_t, 1> scope_offsets, InC<std::int32_t, 1> scopes,
                     InC<std::int64_t, 1> table_offsets, InC<double, 1> tables, InC<std::uint8_t, 1> logs,
                     InC<std::uint8_t, 1> keep, bool maximise,
                     OutC<double, 1> out) {
    const std::vector<int> states = sizes_of(sizes);
    const Lists lists = lists_of(scope_offsets, scopes, states.size());
    need(keep.shape(0) == states.size() && logs.shape(0) == lists.size(), "every factor and every axis has a mark");
    const std::vector<const double*> starts = tables_of(lists, states, table_offsets, tables);
    double cells = 1, kept = 1;
    for (std::size_t k = 0; k < states.size(); ++k) cells *= states[k], kept *= keep.data()[k] ? states[k] : 1;
    need(cells < 0x1p59, "the product does not fit any memory");
    need(kept == static_cast<double>(out.shape(0)), "out does not have the cells of the axes that are kept");
    return combine(states, lists, starts, logs.data(), keep.data(), maximise, out.data());
}

// (log of the scale, scopes left, their tables end to end, which are logarithms, best states, peak, nodes of the widest step)
using Eliminated = std::tuple<double, Lists, nb::ndarray<nb::numpy, double, nb::ndim<1>>, std::vector<bool>, std::vector<int>, double, std::vector<int>>;

Eliminated eliminated(InC<std::int32_t, 1> sizes, InC<std::int64_t, 1> scope_offsets, InC<std::int32_t, 1> scopes,
                      InC<std::int64_t, 1> table_offsets, InC<double, 1> tables, InC<std::uint8_t, 1> logs,
                      InC<std::int32_t, 1> order, double budget, bool maximise) {
    const std::vector<int> states = sizes_of(sizes);
    const Lists lists = lists_of(scope_offsets, scopes, states.size());
    need(logs.shape(0) == lists.size(), "every factor has a mark");
    const std::vector<const double*> starts = tables_of(lists, states, table_offsets, tables);
    std::vector<char> met(states.size(), 0);
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const int v = order.data()[i];
        need(v >= 0 && static_cast<std::size_t>(v) < states.size() && !met[v], "the order names a node twice, or none");
        met[v] = 1;
    }
    std::vector<Factor> factors(lists.size());
    for (std::size_t f = 0; f < lists.size(); ++f) factors[f] = {lists[f], starts[f], logs.data()[f] != 0, {}};
    Left left;
    auto flat = std::make_unique<std::vector<double>>();
    {
        nb::gil_scoped_release release;
        left = sum_out(states, std::move(factors), vector_of(order), std::min(budget, 0x1p59), maximise);
        for (const Factor& factor : left.factors)
            flat->insert(flat->end(), factor.table, factor.table + static_cast<std::size_t>(cells_of(factor.scope, states)));
    }
    Lists left_scopes;
    std::vector<bool> left_logs;
    for (Factor& factor : left.factors) left_scopes.push_back(std::move(factor.scope)), left_logs.push_back(factor.logs);
    const std::size_t cells = flat->size();
    double* data = flat->data();
    nb::capsule owner(flat.release(), [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return {left.log_scale, std::move(left_scopes), {data, {cells}, owner}, std::move(left_logs), std::move(left.states), left.peak, std::move(left.widest)};
}

}  // namespace

void bind_network(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("elimination_order", &elimination_order, nb::arg("offsets").noconvert(), nb::arg("neighbours").noconvert(),
          nb::arg("sizes").noconvert(), nb::arg("budget"));
    m.def("combine_factors", &combine_factors, nb::arg("sizes").noconvert(), nb::arg("scope_offsets").noconvert(),
          nb::arg("scopes").noconvert(), nb::arg("table_offsets").noconvert(), nb::arg("tables").noconvert(),
          nb::arg("logs").noconvert(), nb::arg("keep").noconvert(), nb::arg("maximise"), nb::arg("out").noconvert(), Release());
    m.def("sum_out", &eliminated, nb::arg("sizes").noconvert(), nb::arg("scope_offsets").noconvert(),
          nb::arg("scopes").noconvert(), nb::arg("table_offsets").noconvert(), nb::arg("tables").noconvert(),
          nb::arg("logs").noconvert(), nb::arg("order").noconvert(), nb::arg("budget"), nb::arg("maximise"));
    nb::class_<Plan>(m, "JunctionPlan")
        .def("__init__",
             [](Plan* self, InC<std::int32_t, 1> sizes, InC<std::int64_t, 1> offsets, InC<std::int32_t, 1> parents, double budget) {
                 need(sizes.shape(0) > 0 && offsets.shape(0) == sizes.shape(0) + 1, "every node has a list of parents");
                 new (self) Plan(sizes_of(sizes), lists_of(offsets, parents, sizes.shape(0)), budget);
             }, nb::arg("sizes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("parents").noconvert(), nb::arg("budget"),
             Release())
        .def("fill", [](Plan& self, InC<double, 1> tables, InC<std::int64_t, 1> offsets) {
                 const std::size_t n = self.sizes.size();
                 need(!self.cliques.empty(), "the tree is over its budget, and was not laid out");
                 need(offsets.shape(0) == n + 1, "every node has a table");
                 for (std::size_t v = 0; v < n; ++v) {
                     const double cells = cells_of(self.parents[v], self.sizes) * self.sizes[v];
                     need(offsets.data()[v] >= 0 && static_cast<double>(offsets.data()[v]) + cells <= static_cast<double>(tables.shape(0)),
                          "a table is shorter than its family");
                 }
                 self.fill(tables.data(), offsets.data());
             }, nb::arg("tables").noconvert(), nb::arg("offsets").noconvert(), Release())
        .def("cliques", [](const Plan& self) {
                 Lists cliques;
                 for (const Clique& clique : self.cliques) cliques.push_back(clique.nodes);
                 return cliques;
             })
        .def_prop_ro("bytes", &Plan::bytes)
        .def_prop_ro("largest", &Plan::largest)
        .def_prop_ro("largest_cells", &Plan::largest_cells);
    nb::class_<State>(m, "JunctionState")
        .def("__init__",
             [](State* self, std::shared_ptr<const Plan> plan) {
                 need(plan && plan->filled(), "the plan has no tables yet");
                 new (self) State(std::move(plan));
             }, nb::arg("plan"), Release())
        .def("set", &set_findings, nb::arg("plan"), nb::arg("nodes").noconvert(), nb::arg("values").noconvert(), Release())
        .def("change", [](State& self, int v, InC<double, 1> likelihood) {
                 need_node(self.plan(), v);
                 need(likelihood.shape(0) == 0 || likelihood.shape(0) == static_cast<std::size_t>(self.plan().sizes[v]),
                      "the likelihood is not that of the node");
                 self.change(v, likelihood.shape(0) ? likelihood.data() : nullptr);
             }, nb::arg("node"), nb::arg("likelihood").noconvert(), Release())
        .def("reset", &State::reset, Release())
        .def("collect", &State::collect, Release())
        .def("marginals", [](State& self, OutC<double, 1> out) {
                 need(out.shape(0) == self.marginals().size(), "out does not have the states of all nodes");
                 if (!self.collect() || !self.distribute()) return false;
                 std::copy(self.marginals().begin(), self.marginals().end(), out.data());
                 return true;
             }, nb::arg("out").noconvert(), Release())
        .def("joint", [](State& self, std::vector<int> nodes, OutC<double, 1> out) {
                 for (int v : nodes) {
                     need_node(self.plan(), v);
                     need(std::count(nodes.begin(), nodes.end(), v) == 1, "a node is named twice");
                 }
                 need(!nodes.empty() && cells_of(nodes, self.plan().sizes) == static_cast<double>(out.shape(0)),
                      "out does not have the cells of the nodes");
                 std::vector<double> table;
                 if (!self.collect() || !self.distribute() || !self.joint(nodes, table)) return false;
                 std::copy(table.begin(), table.end(), out.data());
                 return true;
             }, nb::arg("nodes"), nb::arg("out").noconvert(), Release())
        .def("most_probable", [](State& self, OutC<std::int32_t, 1> out) {
                 need(out.shape(0) == self.plan().sizes.size(), "out does not have a state a node");
                 std::vector<int> states;
                 double value = 0;
                 if (!self.most_probable(states, value)) return -std::numeric_limits<double>::infinity();
                 std::copy(states.begin(), states.end(), out.data());
                 return value;
             }, nb::arg("out").noconvert(), Release())
        .def("sample", [](State& self, InC<std::uint64_t, 1> seeds, std::int64_t chunk, int threads, OutC<std::int32_t, 2> out) {
                 need(out.shape(1) == self.plan().sizes.size(), "out does not have a column a node");
                 need(chunk > 0 && seeds.shape(0) >= (out.shape(0) + chunk - 1) / chunk, "every chunk needs a seed");
                 if (!self.collect()) return false;
                 self.sample(static_cast<Index>(out.shape(0)), seeds.data(), chunk, threads, out.data());
                 return true;
             }, nb::arg("seeds").noconvert(), nb::arg("chunk"), nb::arg("threads"), nb::arg("out").noconvert(), Release())
        .def_prop_ro("log_probability", &State::log_probability);
    m.def("junction_batch",
          [](std::shared_ptr<const Plan> plan, InC<std::int32_t, 2> cases, InC<std::int32_t, 1> targets, OutC<double, 2> out,
             OutC<std::uint8_t, 1> possible, int threads) {
              need(plan && plan->filled(), "the plan has no tables yet");
              const std::size_t rows = cases.shape(0), n = plan->sizes.size();
              std::size_t width = 0;
              for (std::size_t i = 0; i < targets.shape(0); ++i) {
                  need_node(*plan, targets.data()[i]);
                  width += plan->sizes[targets.data()[i]];
              }
              need(cases.shape(1) == n && out.shape(0) == rows && out.shape(1) == width && possible.shape(0) == rows,
                   "cases, out and possible are not those of the network");
              for (std::size_t i = 0; i < rows * n; ++i)
                  need(cases.data()[i] < plan->sizes[i % n], "a case names a state that is not there");
              batch(plan, cases.data(), static_cast<Index>(rows), vector_of(targets), out.data(),
                    reinterpret_cast<char*>(possible.data()), threads);
          }, nb::arg("plan"), nb::arg("cases").noconvert(), nb::arg("targets").noconvert(), nb::arg("out").noconvert(),
          nb::arg("possible").noconvert(), nb::arg("threads"), Release());
    m.def("junction_expected",
          [](std::shared_ptr<const Plan> plan, InC<std::int32_t, 2> cases, InC<double, 1> weights, InC<std::int64_t, 1> offsets,
             OutC<double, 2> out, OutC<double, 1> log_probability, int threads) {
              need(plan && plan->filled(), "the plan has no tables yet");
              const std::size_t rows = cases.shape(0), n = plan->sizes.size();
              need(cases.shape(1) == n && weights.shape(0) == rows && log_probability.shape(0) == rows && offsets.shape(0) == n + 1,
                   "cases, weights and offsets are not those of the network");
              need(offsets.data()[0] == 0 && static_cast<std::size_t>(offsets.data()[n]) == out.shape(1) && out.shape(0) > 0,
                   "out does not have the cells of the tables");
              for (std::size_t v = 0; v < n; ++v)
                  need(static_cast<double>(offsets.data()[v + 1] - offsets.data()[v]) ==
                           cells_of(plan->parents[v], plan->sizes) * plan->sizes[v],
                       "a table is not that of its family");
              for (std::size_t i = 0; i < rows * n; ++i)
                  need(cases.data()[i] < plan->sizes[i % n], "a case names a state that is not there");
              expected(plan, cases.data(), weights.data(), static_cast<Index>(rows), offsets.data(),
                       static_cast<Index>(out.shape(0)), out.data(), log_probability.data(), threads);
          }, nb::arg("plan"), nb::arg("cases").noconvert(), nb::arg("weights").noconvert(), nb::arg("offsets").noconvert(),
          nb::arg("out").noconvert(), nb::arg("log_probability").noconvert(), nb::arg("threads"), Release());
}
