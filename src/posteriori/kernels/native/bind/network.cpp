// Networks: elimination orders and the junction tree.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "network/combine.hpp"
#include "network/junction.hpp"
#include "bind.hpp"

using namespace posteriori;

void need_lists(const Lists& lists, std::size_t limit) {
    for (const auto& list : lists)
        for (int item : list) need(item >= 0 && static_cast<std::size_t>(item) < limit, "an item is out of range");
}

void need_sizes(const std::vector<int>& sizes) {
    for (int size : sizes) need(size > 0, "a node has no state");
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

void need_cases(const Plan& plan, const InC<std::int32_t, 2>& cases) {
    const std::size_t n = plan.sizes.size();
    need(cases.shape(1) == n, "the cases are not those of the network");
    for (std::size_t i = 0; i < cases.size(); ++i) need(cases.data()[i] < plan.sizes[i % n], "a case names a state that is not there");
}

// (order, maximal cliques, cells of all steps, nodes of the largest); an order over the budget is empty.
using Order = std::tuple<std::vector<int>, Lists, double, std::vector<int>>;

Order elimination_order(const Lists& near, const std::vector<int>& sizes, double budget) {
    need_lists(near, sizes.size());
    need_sizes(sizes);
    need(near.size() == sizes.size(), "every node has a list of neighbours");
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
    Elimination elimination = best_elimination(near, sizes, budget);
    Lists cliques;
    if (!elimination.order.empty()) cliques = clique_tree(elimination).members;
    return {std::move(elimination.order), std::move(cliques), elimination.cells, std::move(elimination.largest)};
}

using Flat = InC<double, 1>;

// The table of each scope.
std::vector<const double*> tables_of(const Lists& scopes, const std::vector<int>& sizes, const std::vector<Flat>& tables) {
    need_sizes(sizes);
    need_lists(scopes, sizes.size());
    need(tables.size() == scopes.size(), "every factor has a table");
    std::vector<const double*> starts;
    for (std::size_t f = 0; f < scopes.size(); ++f) {
        need(cells_of(scopes[f], sizes) <= static_cast<double>(tables[f].shape(0)), "a table is shorter than its scope");
        starts.push_back(tables[f].data());
    }
    return starts;
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
nb::tuple combine_factors(const std::vector<int>& states, const Lists& scopes, const std::vector<Flat>& tables,
                          const std::vector<bool>& logs, const std::vector<bool>& keep, bool maximise) {
    const std::vector<const double*> starts = tables_of(scopes, states, tables);
    need(keep.size() == states.size() && logs.size() == scopes.size(), "every factor and every axis has a mark");
    double cells = 1, kept = 1;
    for (std::size_t k = 0; k < states.size(); ++k) cells *= states[k], kept *= keep[k] ? states[k] : 1;
    need(cells < 0x1p59, "the product does not fit any memory");
    const auto out = empty<double>({static_cast<std::size_t>(kept)});
    const std::vector<std::uint8_t> in_logs(logs.begin(), logs.end()), onto(keep.begin(), keep.end());
    const auto [log_scale, wide] = without_gil([&] { return combine(states, scopes, starts, in_logs.data(), onto.data(), maximise, out.data); });
    return nb::make_tuple(out.array, log_scale, wide);
}

// (log of the scale, tables left (scope, table, in logs), best states, peak, nodes of the widest step)
nb::tuple eliminated(const std::vector<int>& states, const Lists& scopes, const std::vector<Flat>& tables, const std::vector<bool>& logs,
                     const std::vector<int>& order, double budget, bool maximise) {
    const std::vector<const double*> starts = tables_of(scopes, states, tables);
    need(logs.size() == scopes.size(), "every factor has a mark");
    std::vector<char> met(states.size(), 0);
    for (const int v : order) {
        need(v >= 0 && static_cast<std::size_t>(v) < states.size() && !met[v], "the order names a node twice, or none");
        met[v] = 1;
    }
    std::vector<Factor> factors(scopes.size());
    for (std::size_t f = 0; f < scopes.size(); ++f) factors[f] = {scopes[f], starts[f], logs[f], {}};
    const Left left = without_gil([&] { return sum_out(states, std::move(factors), order, std::min(budget, 0x1p59), maximise); });
    nb::list found;
    for (const Factor& factor : left.factors) {
        const auto cells = static_cast<std::size_t>(cells_of(factor.scope, states));
        const auto table = empty<double>({cells});
        std::copy_n(factor.table, cells, table.data);
        found.append(nb::make_tuple(nb::tuple(nb::cast(factor.scope)), table.array, factor.logs));
    }
    return nb::make_tuple(left.log_scale, found, left.states, left.peak, left.widest);
}

constexpr std::size_t PARTS = 16, PART_CELLS = std::size_t{1} << 24;  // parts of the rows that are counted apart: fixed, so that threads change no sum

}  // namespace

void bind_network(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("elimination_order", &elimination_order, nb::arg("adjacency"), nb::arg("sizes"),
          nb::arg("budget") = std::numeric_limits<double>::infinity());
    m.def("combine_factors", &combine_factors, nb::arg("sizes"), nb::arg("scopes"), nb::arg("tables"), nb::arg("logs"), nb::arg("keep"),
          nb::arg("maximise"));
    m.def("sum_out", &eliminated, nb::arg("sizes"), nb::arg("scopes"), nb::arg("tables"), nb::arg("logs"), nb::arg("order"),
          nb::arg("budget"), nb::arg("maximise"));
    nb::class_<Plan>(m, "JunctionPlan")
        .def("__init__",
             [](Plan* self, const std::vector<int>& sizes, const Lists& parents, double budget) {
                 need(!sizes.empty() && parents.size() == sizes.size(), "every node has a list of parents");
                 need_sizes(sizes);
                 need_lists(parents, sizes.size());
                 without_gil([&] { new (self) Plan(sizes, parents, budget); });
             }, nb::arg("sizes"), nb::arg("parents"), nb::arg("budget"))
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
          [](std::shared_ptr<const Plan> plan, InC<std::int32_t, 2> cases, const std::vector<int>& targets, int threads) {
              need(plan && plan->filled(), "the plan has no tables yet");
              const std::size_t rows = cases.shape(0), n = plan->sizes.size();
              std::size_t width = 0;
              for (const int v : targets) {
                  need_node(*plan, v);
                  width += plan->sizes[v];
              }
              need_cases(*plan, cases);
              const auto out = empty<double>({rows, width});
              const auto possible = empty<bool>({rows});
              without_gil([&] {
                  batch(plan, cases.data(), static_cast<Index>(rows), targets, out.data, reinterpret_cast<char*>(possible.data), threads);
              });
              return nb::make_tuple(out.array, possible.array);
          }, nb::arg("plan"), as_is("cases"), nb::arg("targets"), nb::arg("threads"));
    m.def("junction_expected",
          [](std::shared_ptr<const Plan> plan, InC<std::int32_t, 2> cases, InC<double, 1> weights, InC<std::int64_t, 1> offsets, int threads) {
              need(plan && plan->filled(), "the plan has no tables yet");
              const std::size_t rows = cases.shape(0), n = plan->sizes.size();
              need_cases(*plan, cases);
              need(weights.shape(0) == rows && offsets.shape(0) == n + 1, "weights and offsets are not those of the network");
              need(offsets.data()[0] == 0, "offsets begin at 0");
              for (std::size_t v = 0; v < n; ++v)
                  need(static_cast<double>(offsets.data()[v + 1] - offsets.data()[v]) ==
                           cells_of(plan->parents[v], plan->sizes) * plan->sizes[v],
                       "a table is not that of its family");
              const auto cells = static_cast<std::size_t>(offsets.data()[n]);
              const std::size_t parts = std::max<std::size_t>(1, std::min({PARTS, PART_CELLS / cells, rows}));
              const auto out = empty<double>({parts, cells}), log_probability = empty<double>({rows});
              without_gil([&] {
                  expected(plan, cases.data(), weights.data(), static_cast<Index>(rows), offsets.data(), static_cast<Index>(parts), out.data,
                           log_probability.data, threads);
              });
              return nb::make_tuple(out.array.attr("sum")(0), log_probability.array);
          }, nb::arg("plan"), as_is("cases"), as_is("weights"), as_is("offsets"), nb::arg("threads"));
}
