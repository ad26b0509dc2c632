// Networks: elimination orders and the junction tree.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "network/combine.hpp"
#include "network/junction.hpp"
#include "bind.hpp"

using namespace posteriori;

namespace {

Lists lists_of(const InC<std::int64_t, 1>& offsets, const InC<std::int32_t, 1>& items) {
    Lists lists(offsets.shape(0) - 1);
    for (std::size_t i = 0; i < lists.size(); ++i)
        lists[i].assign(items.data() + offsets.data()[i], items.data() + offsets.data()[i + 1]);
    return lists;
}

std::vector<int> vector_of(const InC<std::int32_t, 1>& items) { return {items.data(), items.data() + items.shape(0)}; }

std::pair<std::vector<int>, Lists> elimination_order(InC<std::int64_t, 1> offsets, InC<std::int32_t, 1> neighbours,
                                                     InC<std::int32_t, 1> sizes) {
    nb::gil_scoped_release release;
    Elimination elimination = best_elimination(lists_of(offsets, neighbours), vector_of(sizes));
    CliqueTree tree = clique_tree(elimination);
    return {std::move(elimination.order), std::move(tree.members)};
}

// The likelihood vectors of the nodes follow each other in `values`.
void set_findings(State& state, const Plan& plan, InC<std::int32_t, 1> nodes, InC<double, 1> values) {
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
double combine_factors(InC<std::int32_t, 1> sizes, InC<std::int64_t, 1> scope_offsets, InC<std::int32_t, 1> scopes,
                     InC<std::int64_t, 1> table_offsets, InC<double, 1> tables, InC<std::uint8_t, 1> keep, bool maximise,
                     OutC<double, 1> out) {
    const Lists lists = lists_of(scope_offsets, scopes);
    std::vector<const double*> starts;
    for (std::size_t f = 0; f < lists.size(); ++f) starts.push_back(tables.data() + table_offsets.data()[f]);
    return combine(vector_of(sizes), lists, starts, keep.data(), maximise, out.data());
}

}  // namespace

void bind_network(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("elimination_order", &elimination_order, nb::arg("offsets").noconvert(), nb::arg("neighbours").noconvert(),
          nb::arg("sizes").noconvert());
    m.def("combine_factors", &combine_factors, nb::arg("sizes").noconvert(), nb::arg("scope_offsets").noconvert(),
          nb::arg("scopes").noconvert(), nb::arg("table_offsets").noconvert(), nb::arg("tables").noconvert(),
          nb::arg("keep").noconvert(), nb::arg("maximise"), nb::arg("out").noconvert(), Release());
    nb::class_<Plan>(m, "JunctionPlan")
        .def("__init__",
             [](Plan* self, InC<std::int32_t, 1> sizes, InC<std::int64_t, 1> offsets, InC<std::int32_t, 1> parents) {
                 new (self) Plan(vector_of(sizes), lists_of(offsets, parents));
             }, nb::arg("sizes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("parents").noconvert(), Release())
        .def("fill", [](Plan& self, InC<double, 1> tables, InC<std::int64_t, 1> offsets) {
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
        .def(nb::init<std::shared_ptr<const Plan>>(), Release())
        .def("set", &set_findings, nb::arg("plan"), nb::arg("nodes").noconvert(), nb::arg("values").noconvert(), Release())
        .def("change", [](State& self, int v, InC<double, 1> likelihood) {
                 self.change(v, likelihood.shape(0) ? likelihood.data() : nullptr);
             }, nb::arg("node"), nb::arg("likelihood").noconvert(), Release())
        .def("reset", &State::reset, Release())
        .def("collect", &State::collect, Release())
        .def("marginals", [](State& self, OutC<double, 1> out) {
                 if (!self.collect() || !self.distribute()) return false;
                 std::copy(self.marginals().begin(), self.marginals().end(), out.data());
                 return true;
             }, nb::arg("out").noconvert(), Release())
        .def("joint", [](State& self, std::vector<int> nodes, OutC<double, 1> out) {
                 std::vector<double> table;
                 if (!self.collect() || !self.distribute() || !self.joint(nodes, table)) return false;
                 std::copy(table.begin(), table.end(), out.data());
                 return true;
             }, nb::arg("nodes"), nb::arg("out").noconvert(), Release())
        .def("most_probable", [](State& self, OutC<std::int32_t, 1> out) {
                 std::vector<int> states;
                 double value = 0;
                 if (!self.most_probable(states, value)) return -std::numeric_limits<double>::infinity();
                 std::copy(states.begin(), states.end(), out.data());
                 return value;
             }, nb::arg("out").noconvert(), Release())
        .def("sample", [](State& self, InC<std::uint64_t, 1> seeds, std::int64_t chunk, int threads, OutC<std::int32_t, 2> out) {
                 if (!self.collect()) return false;
                 self.sample(static_cast<Index>(out.shape(0)), seeds.data(), chunk, threads, out.data());
                 return true;
             }, nb::arg("seeds").noconvert(), nb::arg("chunk"), nb::arg("threads"), nb::arg("out").noconvert(), Release())
        .def_prop_ro("log_probability", &State::log_probability);
    m.def("junction_batch",
          [](std::shared_ptr<const Plan> plan, InC<std::int32_t, 2> cases, InC<std::int32_t, 1> targets, OutC<double, 2> out,
             OutC<std::uint8_t, 1> possible, int threads) {
              batch(plan, cases.data(), static_cast<Index>(cases.shape(0)), vector_of(targets), out.data(),
                    reinterpret_cast<char*>(possible.data()), threads);
          }, nb::arg("plan"), nb::arg("cases").noconvert(), nb::arg("targets").noconvert(), nb::arg("out").noconvert(),
          nb::arg("possible").noconvert(), nb::arg("threads"), Release());
}
