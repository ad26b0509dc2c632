// Networks by sampling: Gibbs chains, and cases drawn forward.
#include "network/forward.hpp"
#include "network/gibbs.hpp"
#include "threads.hpp"
#include "bind.hpp"

using namespace posteriori;

namespace {

using Ints = InC<std::int32_t, 1>;
using Longs = InC<std::int64_t, 1>;

// Nodes in `order` (parents before children); `fixed` is the state of a hard finding or −1.
std::vector<ForwardNode> forward_nodes(const Ints& order, const Ints& sizes, const Longs& parent_offsets, const Ints& parents,
                                       const Longs& table_offsets, const InC<double, 1>& tables, const Ints& fixed) {
    const std::size_t n = sizes.shape(0);
    sizes_of(sizes);
    const auto lists = lists_of(parent_offsets, parents, n);
    need(lists.size() == n && order.shape(0) == n && table_offsets.shape(0) >= n && fixed.shape(0) == n,
         "every node has parents, a place in the order, a table and a finding or −1");
    std::vector<char> drawn(n, 0);
    std::vector<ForwardNode> nodes;
    for (std::size_t i = 0; i < n; ++i) {
        const int v = order.data()[i];
        need(v >= 0 && static_cast<std::size_t>(v) < n && !drawn[v], "the order does not name every node once");
        for (int p : lists[v]) need(drawn[p], "a parent comes after its child");
        drawn[v] = 1;
        const int size = sizes.data()[v];
        need(fixed.data()[v] < size, "a finding names a state that is not there");
        double cells = size;
        for (int p : lists[v]) cells *= sizes.data()[p];
        const std::int64_t begin = table_offsets.data()[v];
        need(begin >= 0 && static_cast<double>(begin) + cells <= static_cast<double>(tables.shape(0)), "a table is shorter than its family");
        ForwardNode node{v, size, fixed.data()[v], tables.data() + begin, nullptr, lists[v], {}};
        node.strides.resize(node.parents.size());
        std::int64_t step = size;
        for (std::size_t k = node.parents.size(); k-- > 0; step *= sizes.data()[node.parents[k]]) node.strides[k] = step;
        nodes.push_back(std::move(node));
    }
    return nodes;
}

// Where a factor's place moves by when node v goes up one state: the table of a node, or (beyond them) a likelihood.
std::int64_t stride_of(const std::vector<const ForwardNode*>& nodes, const std::vector<int>& soft, std::size_t factor, int v) {
    if (factor >= nodes.size()) return soft[factor - nodes.size()] == v;
    const ForwardNode& node = *nodes[factor];
    std::int64_t stride = node.node == v;
    for (std::size_t k = 0; k < node.parents.size(); ++k)
        if (node.parents[k] == v) stride += node.strides[k];
    return stride;
}

// The chains move by the blocks' own numbers: they must be what the states of the blocks come to, from where the chains begin.
void check_blocks(const GibbsPlan& plan, const Ints& sizes, const Longs& table_offsets, const OutC<std::int64_t, 2>& choice,
                  const OutC<std::int64_t, 2>& place) {
    const std::size_t n = plan.forward.size(), factors = n + plan.soft.size();
    std::vector<const ForwardNode*> nodes(n);
    for (const ForwardNode& node : plan.forward) nodes[node.node] = &node;
    std::vector<int> held(n, 0);
    for (const GibbsBlock& block : plan.blocks) {
        const std::size_t width = block.nodes.size(), count = block.factors.size();
        for (int v : block.nodes) need(!held[v]++ && nodes[v]->fixed < 0, "a node is drawn twice, or drawn and held");
        std::vector<std::int64_t> stride(width * count);
        for (std::size_t k = 0; k < width; ++k)
            for (std::size_t i = 0; i < count; ++i) stride[k * count + i] = stride_of(nodes, plan.soft, block.factors[i], block.nodes[k]);
        for (std::int64_t j = 0; j < block.states; ++j) {
            const std::int32_t* value = block.value + j * width;
            for (std::size_t k = 0; k < width; ++k)
                need(value[k] >= 0 && value[k] < sizes.data()[block.nodes[k]], "a block names a state that is not there");
            for (std::size_t i = 0; i < count; ++i) {
                std::int64_t moved = 0;
                for (std::size_t k = 0; k < width; ++k) moved += stride[k * count + i] * value[k];
                need(block.offset[j * count + i] == moved, "the places of a block are not those of its states");
            }
        }
    }
    for (std::size_t c = 0; c < choice.shape(0); ++c) {
        std::vector<std::int64_t> x(n);
        for (std::size_t v = 0; v < n; ++v) {
            need(held[v] || nodes[v]->fixed >= 0, "a node is neither drawn nor held");
            x[v] = nodes[v]->fixed;
        }
        for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
            const GibbsBlock& block = plan.blocks[b];
            const std::int64_t j = choice.data()[c * plan.blocks.size() + b];
            need(j >= 0 && j < block.states, "a chain begins outside a block");
            for (std::size_t k = 0; k < block.nodes.size(); ++k) x[block.nodes[k]] = block.value[j * block.nodes.size() + k];
        }
        for (std::size_t f = 0; f < factors; ++f) {
            std::int64_t at = table_offsets.data()[f];
            for (std::size_t v = 0; v < n; ++v) at += stride_of(nodes, plan.soft, f, static_cast<int>(v)) * x[v];
            need(place.data()[c * factors + f] == at, "a chain does not begin where its states are");
        }
    }
}

// The joint states of the blocks lie end to end in `values` and their places in the tables in `places`. The first factors
// are the tables of the nodes, then come the likelihoods of the nodes in `soft`.
void gibbs(InC<double, 1> tables, Longs table_offsets, Ints order, Ints sizes, Longs parent_offsets, Ints parents, Ints fixed,
           Ints soft, Longs node_offsets, Ints nodes, Longs factor_offsets, Ints factors, Longs states, Longs places, Ints values,
           OutC<std::int64_t, 2> choice, OutC<std::int64_t, 2> place, InC<std::uint64_t, 1> seeds, std::int64_t burn_in,
           std::int64_t thin, std::int64_t batch_length, std::int64_t leap, OutC<double, 3> out, int threads) {
    GibbsPlan plan;
    plan.tables = tables.data();
    plan.forward = forward_nodes(order, sizes, parent_offsets, parents, table_offsets, tables, fixed);
    const std::size_t n = sizes.shape(0), chains = seeds.shape(0), count = states.shape(0);
    plan.soft.assign(soft.data(), soft.data() + soft.shape(0));
    need(table_offsets.shape(0) == n + plan.soft.size() + 1, "every factor has a table");
    for (std::size_t i = 0; i < plan.soft.size(); ++i) {
        need(plan.soft[i] >= 0 && static_cast<std::size_t>(plan.soft[i]) < n, "no such node");
        const std::int64_t begin = table_offsets.data()[n + i];
        need(begin >= 0 && static_cast<std::size_t>(begin) + sizes.data()[plan.soft[i]] <= tables.shape(0), "a likelihood is too short");
    }
    need(burn_in >= 0 && thin > 0 && batch_length > 0 && leap > 0, "no such schedule");
    const auto block_nodes = lists_of(node_offsets, nodes, n), block_factors = lists_of(factor_offsets, factors, n + plan.soft.size());
    need(block_nodes.size() == count && block_factors.size() == count && choice.shape(0) == chains && choice.shape(1) == count &&
             place.shape(0) == chains && place.shape(1) == n + plan.soft.size() && out.shape(0) == chains,
         "blocks or chains differ in number");
    plan.soft_begin.assign(table_offsets.data() + sizes.shape(0), table_offsets.data() + sizes.shape(0) + soft.shape(0));
    plan.width = static_cast<std::int64_t>(out.shape(2));
    std::int64_t begin = 0;
    for (std::size_t v = 0; v < sizes.shape(0); begin += sizes.data()[v++]) plan.marginal.push_back(begin);
    need(plan.width == begin, "out does not have the states of all nodes");
    std::size_t next_place = 0, next_value = 0;
    for (std::size_t b = 0; b < count; ++b) {
        GibbsBlock block{block_nodes[b], block_factors[b], states.data()[b], places.data() + next_place, values.data() + next_value};
        need(!block.nodes.empty() && !block.factors.empty() && block.states > 0 && block.states < (std::int64_t{1} << 40),
             "a block has no node, no factor or no state");
        next_place += static_cast<std::size_t>(block.states) * block.factors.size();
        next_value += static_cast<std::size_t>(block.states) * block.nodes.size();
        need(next_place <= places.shape(0) && next_value <= values.shape(0), "a block has fewer states than it says");
        plan.blocks.push_back(std::move(block));
    }
    check_blocks(plan, sizes, table_offsets, choice, place);
    const GibbsSchedule schedule{burn_in, thin, static_cast<std::int64_t>(out.shape(1)), batch_length, leap};
    parallel_for(chains, threads, [&](std::size_t chain) {
        gibbs_chain(plan, schedule, seeds.data()[chain], choice.data() + chain * choice.shape(1),
                    place.data() + chain * place.shape(1), out.data() + chain * out.shape(1) * out.shape(2));
    });
}

// `soft` is where a node's likelihoods begin in `likelihoods`, or −1.
void forward(Ints order, Ints sizes, Longs parent_offsets, Ints parents, Longs table_offsets, InC<double, 1> tables, Ints fixed,
             Longs soft, InC<double, 1> likelihoods, InC<std::uint64_t, 1> seeds, std::int64_t chunk, OutC<std::int32_t, 2> x,
             OutC<double, 1> log_weight, int threads) {
    auto nodes = forward_nodes(order, sizes, parent_offsets, parents, table_offsets, tables, fixed);
    need(soft.shape(0) == nodes.size() && x.shape(1) == nodes.size() && log_weight.shape(0) == x.shape(0),
         "soft and x are not those of the nodes, or log_weight is not that of the rows");
    need(chunk > 0 && seeds.shape(0) == (x.shape(0) + chunk - 1) / chunk, "every chunk has a seed");
    for (ForwardNode& node : nodes) {
        const std::int64_t begin = soft.data()[node.node];
        if (begin < 0) continue;
        need(static_cast<std::size_t>(begin) + node.size <= likelihoods.shape(0), "a likelihood is too short");
        node.soft = likelihoods.data() + begin;
    }
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
