// Networks by sampling: Gibbs chains, and cases drawn forward.
#include "network/forward.hpp"
#include "network/gibbs.hpp"
#include "threads.hpp"
#include "bind.hpp"

using namespace posteriori;

namespace {

using Ints = InC<std::int32_t, 1>;
using Longs = InC<std::int64_t, 1>;

std::vector<int> slice(const Ints& items, const Longs& offsets, std::size_t i) {
    return {items.data() + offsets.data()[i], items.data() + offsets.data()[i + 1]};
}

// Nodes in `order` (parents before children); `fixed` is the state of a hard finding or −1.
std::vector<ForwardNode> forward_nodes(const Ints& order, const Ints& sizes, const Longs& parent_offsets, const Ints& parents,
                                       const Longs& table_offsets, const double* tables, const Ints& fixed) {
    std::vector<ForwardNode> nodes;
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const int v = order.data()[i], size = sizes.data()[v];
        ForwardNode node{v, size, fixed.data()[v], tables + table_offsets.data()[v], nullptr, slice(parents, parent_offsets, v), {}};
        node.strides.resize(node.parents.size());
        std::int64_t step = size;
        for (std::size_t k = node.parents.size(); k-- > 0; step *= sizes.data()[node.parents[k]]) node.strides[k] = step;
        nodes.push_back(std::move(node));
    }
    return nodes;
}

// The joint states of the blocks lie end to end in `values` and their places in the tables in `places`. The first factors
// are the tables of the nodes, then come the likelihoods of the nodes in `soft`.
void gibbs(InC<double, 1> tables, Longs table_offsets, Ints order, Ints sizes, Longs parent_offsets, Ints parents, Ints fixed,
           Ints soft, Longs node_offsets, Ints nodes, Longs factor_offsets, Ints factors, Longs states, Longs places, Ints values,
           OutC<std::int64_t, 2> choice, OutC<std::int64_t, 2> place, InC<std::uint64_t, 1> seeds, std::int64_t burn_in,
           std::int64_t thin, std::int64_t batch_length, std::int64_t leap, OutC<double, 3> out, int threads) {
    GibbsPlan plan;
    plan.tables = tables.data();
    plan.forward = forward_nodes(order, sizes, parent_offsets, parents, table_offsets, tables.data(), fixed);
    plan.soft.assign(soft.data(), soft.data() + soft.shape(0));
    plan.soft_begin.assign(table_offsets.data() + sizes.shape(0), table_offsets.data() + sizes.shape(0) + soft.shape(0));
    plan.width = static_cast<std::int64_t>(out.shape(2));
    std::int64_t begin = 0;
    for (std::size_t v = 0; v < sizes.shape(0); begin += sizes.data()[v++]) plan.marginal.push_back(begin);
    const std::int64_t* next_place = places.data();
    const std::int32_t* next_value = values.data();
    for (std::size_t b = 0; b < states.shape(0); ++b) {
        GibbsBlock block{slice(nodes, node_offsets, b), slice(factors, factor_offsets, b), states.data()[b], next_place, next_value};
        next_place += block.states * static_cast<std::int64_t>(block.factors.size());
        next_value += block.states * static_cast<std::int64_t>(block.nodes.size());
        plan.blocks.push_back(std::move(block));
    }
    const GibbsSchedule schedule{burn_in, thin, static_cast<std::int64_t>(out.shape(1)), batch_length, leap};
    parallel_for(seeds.shape(0), threads, [&](std::size_t chain) {
        gibbs_chain(plan, schedule, seeds.data()[chain], choice.data() + chain * choice.shape(1),
                    place.data() + chain * place.shape(1), out.data() + chain * out.shape(1) * out.shape(2));
    });
}

// `soft` is where a node's likelihoods begin in `likelihoods`, or −1.
void forward(Ints order, Ints sizes, Longs parent_offsets, Ints parents, Longs table_offsets, InC<double, 1> tables, Ints fixed,
             Longs soft, InC<double, 1> likelihoods, InC<std::uint64_t, 1> seeds, std::int64_t chunk, OutC<std::int32_t, 2> x,
             OutC<double, 1> log_weight, int threads) {
    auto nodes = forward_nodes(order, sizes, parent_offsets, parents, table_offsets, tables.data(), fixed);
    for (ForwardNode& node : nodes)
        if (soft.data()[node.node] >= 0) node.soft = likelihoods.data() + soft.data()[node.node];
    const auto rows = static_cast<std::int64_t>(x.shape(0)), width = static_cast<std::int64_t>(x.shape(1));
    parallel_for(seeds.shape(0), threads, [&](std::size_t task) {
        const std::int64_t first = static_cast<std::int64_t>(task) * chunk;
        draw_forward(nodes, std::min(chunk, rows - first), width, seeds.data()[task], x.data() + first * width,
                     log_weight.data() + first);
    });
}

}  // namespace

void bind_sampling(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("gibbs", &gibbs, nb::arg("tables").noconvert(), nb::arg("table_offsets").noconvert(), nb::arg("order").noconvert(),
          nb::arg("sizes").noconvert(), nb::arg("parent_offsets").noconvert(), nb::arg("parents").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("soft").noconvert(), nb::arg("node_offsets").noconvert(),
          nb::arg("nodes").noconvert(), nb::arg("factor_offsets").noconvert(), nb::arg("factors").noconvert(),
          nb::arg("states").noconvert(), nb::arg("places").noconvert(), nb::arg("values").noconvert(),
          nb::arg("choice").noconvert(), nb::arg("place").noconvert(), nb::arg("seeds").noconvert(), nb::arg("burn_in"),
          nb::arg("thin"), nb::arg("batch_length"), nb::arg("leap"), nb::arg("out").noconvert(), nb::arg("threads"), Release());
    m.def("forward", &forward, nb::arg("order").noconvert(), nb::arg("sizes").noconvert(), nb::arg("parent_offsets").noconvert(),
          nb::arg("parents").noconvert(), nb::arg("table_offsets").noconvert(), nb::arg("tables").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("soft").noconvert(), nb::arg("likelihoods").noconvert(),
          nb::arg("seeds").noconvert(), nb::arg("chunk"), nb::arg("x").noconvert(), nb::arg("log_weight").noconvert(),
          nb::arg("threads"), Release());
}
