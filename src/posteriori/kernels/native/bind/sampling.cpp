// Networks by sampling: Gibbs chains, and weighted cases.
#include <algorithm>

#include "network/gibbs.hpp"
#include "network/proposal.hpp"
#include "threads.hpp"
#include "bind.hpp"

using namespace posteriori;

namespace {

using Ints = InC<std::int32_t, 1>;
using Longs = InC<std::int64_t, 1>;

// Tables with the axes scopes[i], end to end, each as long as its axes call for.
struct Tables {
    Tables(const Longs& scope_offsets, const Ints& scope_items, const Longs& offsets_given, const InC<double, 1>& cells, const Ints& sizes_given)
        : scopes(lists_of(scope_offsets, scope_items, sizes_given.shape(0))), sizes(sizes_of(sizes_given)), offsets(offsets_given), data(cells.data()) {
        need(offsets.shape(0) == scopes.size() + 1, "every scope has a table");
        for (std::size_t i = 0; i < scopes.size(); ++i) {
            double length = 1;
            for (int v : scopes[i]) length *= sizes[v];
            need(offsets.data()[i] >= 0 && static_cast<double>(offsets.data()[i]) + length <= static_cast<double>(cells.shape(0)),
                 "a table is shorter than its scope");
        }
    }

    // `drawn` is a node whose axis is kept apart, or −1.
    CaseTable at(std::size_t i, int drawn = -1) const {
        CaseTable made;
        made.table = data + offsets.data()[i];
        std::int64_t step = 1;
        for (auto v = scopes[i].rbegin(); v != scopes[i].rend(); step *= sizes[*v++]) {
            if (*v == drawn) {
                made.own = step;
                continue;
            }
            made.nodes.push_back(*v);
            made.strides.push_back(step);
        }
        return made;
    }

    std::vector<std::vector<int>> scopes;
    std::vector<int> sizes;
    Longs offsets;
    const double* data;
};

// Node order[i] is drawn by the tables owners[i] … owners[i + 1] − 1, whose other nodes are `known` or drawn before it.
Proposal proposal_of(const Ints& order, const Longs& owners, const Tables& tables, std::vector<char>& known) {
    need(owners.shape(0) == order.shape(0) + 1 && owners.data()[0] == 0, "every node that is drawn has its tables");
    Proposal proposal;
    proposal.counted = order.shape(0);
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const int v = order.data()[i];
        need(v >= 0 && static_cast<std::size_t>(v) < known.size() && !known[v], "a node is drawn twice, or drawn and held");
        need(owners.data()[i] <= owners.data()[i + 1] && owners.data()[i + 1] <= static_cast<std::int64_t>(tables.scopes.size()),
             "the tables of the nodes are not in order");
        ProposalNode node{v, tables.sizes[v], {}};
        for (auto f = static_cast<std::size_t>(owners.data()[i]); f < static_cast<std::size_t>(owners.data()[i + 1]); ++f) {
            node.tables.push_back(tables.at(f, v));
            for (int u : node.tables.back().nodes) need(known[u], "a node is drawn before one that it depends on");
        }
        known[v] = 1;
        proposal.nodes.push_back(std::move(node));
    }
    return proposal;
}

// Throws unless the blocks draw every node that is not fixed, once, and move the factors by what their states say, and
// the chains begin at one of their states.
void check_blocks(const GibbsPlan& plan, const std::vector<int>& sizes, const OutC<std::int64_t, 2>& choice,
                  const OutC<std::int64_t, 2>& place) {
    const std::size_t n = sizes.size();
    std::vector<char> held(n, 0);
    for (const GibbsBlock& block : plan.blocks) {
        const std::size_t width = block.nodes.size(), count = block.factors.size();
        for (int v : block.nodes) need(!held[v]++ && plan.fixed[v] < 0, "a node is drawn twice, or drawn and held");
        std::vector<std::int64_t> stride(width * count, 0);
        for (std::size_t k = 0; k < width; ++k)
            for (std::size_t i = 0; i < count; ++i) {
                const CaseTable& factor = plan.factors[block.factors[i]];
                for (std::size_t a = 0; a < factor.nodes.size(); ++a)
                    if (factor.nodes[a] == block.nodes[k]) stride[k * count + i] += factor.strides[a];
            }
        for (std::int64_t j = 0; j < block.states; ++j) {
            const std::int32_t* value = block.value + j * static_cast<std::int64_t>(width);
            for (std::size_t k = 0; k < width; ++k)
                need(value[k] >= 0 && value[k] < sizes[block.nodes[k]], "a block names a state that is not there");
            for (std::size_t i = 0; i < count; ++i) {
                std::int64_t moved = 0;
                for (std::size_t k = 0; k < width; ++k) moved += stride[k * count + i] * value[k];
                need(block.offset[j * static_cast<std::int64_t>(count) + static_cast<std::int64_t>(i)] == moved,
                     "the places of a block are not those of its states");
            }
        }
    }
    std::vector<const GibbsBlock*> owner(n, nullptr);
    for (const GibbsBlock& block : plan.blocks)
        for (int v : block.nodes) owner[v] = &block;
    for (std::size_t f = 0; f < plan.factors.size(); ++f)  // who touches a block is among its factors
        for (int v : plan.factors[f].nodes)
            need(!owner[v] || std::find(owner[v]->factors.begin(), owner[v]->factors.end(), static_cast<int>(f)) != owner[v]->factors.end(),
                 "a factor of a block is not named");
    for (std::size_t c = 0; c < choice.shape(0); ++c) {
        std::vector<std::int32_t> x = plan.fixed;
        for (std::size_t v = 0; v < n; ++v) need(held[v] || x[v] >= 0, "a node is neither drawn nor held");
        for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
            const GibbsBlock& block = plan.blocks[b];
            const std::int64_t j = choice.data()[c * plan.blocks.size() + b];
            need(j >= 0 && j < block.states, "a chain begins outside a block");
            for (std::size_t k = 0; k < block.nodes.size(); ++k)
                x[block.nodes[k]] = block.value[j * static_cast<std::int64_t>(block.nodes.size()) + static_cast<std::int64_t>(k)];
        }
        for (std::size_t f = 0; f < plan.factors.size(); ++f)
            need(place.data()[c * plan.factors.size() + f] == plan.factors[f].table - plan.tables + plan.factors[f].place(x.data()),
                 "a chain does not begin where its states are");
    }
}

// The joint states of the blocks lie end to end in `values` and their places in the tables in `places`. The factors have
// the axes `factor_scopes`; the proposal of the leaps has its own tables.
void gibbs(Ints sizes, Ints fixed, InC<double, 1> tables, Longs table_offsets, Longs factor_scope_offsets, Ints factor_scopes,
           Ints order, Longs owners, Longs scope_offsets, Ints scopes, Longs proposal_offsets, InC<double, 1> proposal_tables,
           double log_bound, Longs node_offsets, Ints nodes, Longs factor_offsets, Ints factors, Longs states, Longs places,
           Ints values, OutC<std::int64_t, 2> choice, OutC<std::int64_t, 2> place, InC<std::uint64_t, 1> seeds,
           std::int64_t burn_in, std::int64_t thin, std::int64_t batch_length, std::int64_t leap, OutC<double, 3> out,
           OutC<double, 1> fresh, OutC<std::int32_t, 3> kept, int threads) {
    const std::size_t n = sizes.shape(0), chains = seeds.shape(0), count = states.shape(0);
    const Tables parts(factor_scope_offsets, factor_scopes, table_offsets, tables, sizes);
    const Tables drawn(scope_offsets, scopes, proposal_offsets, proposal_tables, sizes);
    GibbsPlan plan;
    plan.tables = tables.data();
    for (std::size_t f = 0; f < parts.scopes.size(); ++f) plan.factors.push_back(parts.at(f));
    need(fixed.shape(0) == n, "every node has a state or none");
    std::vector<char> known(n, 0);
    for (std::size_t v = 0; v < n; ++v) {
        need(fixed.data()[v] < parts.sizes[v], "a finding names a state that is not there");
        known[v] = fixed.data()[v] >= 0;
    }
    plan.proposal = proposal_of(order, owners, drawn, known);
    for (char one : known) need(one, "a leap leaves a node out");
    plan.fixed.assign(fixed.data(), fixed.data() + n);
    plan.log_bound = log_bound;
    need(burn_in >= 0 && thin > 0 && batch_length > 0 && leap >= 0, "no such schedule");
    const auto block_nodes = lists_of(node_offsets, nodes, n), block_factors = lists_of(factor_offsets, factors, plan.factors.size());
    need(block_nodes.size() == count && block_factors.size() == count && choice.shape(0) == chains && choice.shape(1) == count &&
             place.shape(0) == chains && place.shape(1) == plan.factors.size() && out.shape(0) == chains && fresh.shape(0) == chains,
         "blocks or chains differ in number");
    plan.width = static_cast<std::int64_t>(out.shape(2));
    const std::size_t sweeps = kept.shape(1);
    need(kept.shape(0) == chains && kept.shape(2) == n && (!sweeps || sweeps == out.shape(1) * static_cast<std::size_t>(batch_length)),
         "no room for every kept sweep");
    std::int64_t begin = 0;
    for (std::size_t v = 0; v < n; begin += parts.sizes[v++]) plan.marginal.push_back(begin);
    need(plan.width == begin, "out does not have the states of all nodes");
    std::size_t next_place = 0, next_value = 0;
    for (std::size_t b = 0; b < count; ++b) {
        GibbsBlock block{block_nodes[b], block_factors[b], states.data()[b], places.data() + next_place, values.data() + next_value};
        need(!block.nodes.empty() && !block.factors.empty() && block.states > 0 && block.states < (std::int64_t{1} << 40),
             "a block without nodes, factors or states");
        next_place += static_cast<std::size_t>(block.states) * block.factors.size();
        next_value += static_cast<std::size_t>(block.states) * block.nodes.size();
        need(next_place <= places.shape(0) && next_value <= values.shape(0), "a block has fewer states than it says");
        plan.blocks.push_back(std::move(block));
    }
    check_blocks(plan, parts.sizes, choice, place);
    const GibbsSchedule schedule{burn_in, thin, static_cast<std::int64_t>(out.shape(1)), batch_length, leap};
    parallel_for(seeds.shape(0), threads, [&](std::size_t chain) {
        fresh.data()[chain] =
            gibbs_chain(plan, schedule, seeds.data()[chain], choice.data() + chain * choice.shape(1),
                        place.data() + chain * place.shape(1), out.data() + chain * out.shape(1) * out.shape(2),
                        sweeps ? kept.data() + chain * sweeps * n : nullptr);
    });
}

// The tables after the last owner are the terms of P(x, e); x holds the states of the nodes that are not drawn.
void draw_cases_of(Ints sizes, std::int64_t counted, Ints order, Longs owners, Longs scope_offsets, Ints scopes, Longs offsets,
                   InC<double, 1> tables, InC<std::uint64_t, 1> seeds, std::int64_t chunk, OutC<std::int32_t, 2> x,
                   OutC<double, 1> log_weight, int threads) {
    const std::size_t n = sizes.shape(0);
    const Tables parts(scope_offsets, scopes, offsets, tables, sizes);
    need(x.shape(1) == n && log_weight.shape(0) == x.shape(0), "cases and weights differ in number");
    need(chunk > 0 && seeds.shape(0) == (x.shape(0) + chunk - 1) / chunk, "every chunk has a seed");
    std::vector<char> known(n, 1);
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        need(order.data()[i] >= 0 && static_cast<std::size_t>(order.data()[i]) < n, "no such node");
        known[order.data()[i]] = 0;
    }
    for (std::size_t v = 0; v < n; ++v)
        for (std::size_t r = 0; known[v] && r < x.shape(0); ++r) {
            const std::int32_t state = x.data()[r * n + v];
            need(state >= 0 && state < parts.sizes[v], "a node that is not drawn has no state");
        }
    Proposal proposal = proposal_of(order, owners, parts, known);
    need(counted >= 0 && static_cast<std::size_t>(counted) <= order.shape(0), "more nodes are counted than drawn");
    proposal.counted = static_cast<std::size_t>(counted);
    std::vector<CaseTable> terms;
    for (auto f = static_cast<std::size_t>(owners.data()[order.shape(0)]); f < parts.scopes.size(); ++f) terms.push_back(parts.at(f));
    const auto rows = static_cast<std::int64_t>(x.shape(0)), width = static_cast<std::int64_t>(n);
    parallel_for(seeds.shape(0), threads, [&](std::size_t task) {
        const std::int64_t first = static_cast<std::int64_t>(task) * chunk;
        draw_cases(proposal, terms, std::min(chunk, rows - first), width, seeds.data()[task], x.data() + first * width,
                   log_weight.data() + first);
    });
}

}  // namespace

void bind_sampling(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("gibbs", &gibbs, nb::arg("sizes").noconvert(), nb::arg("fixed").noconvert(), nb::arg("tables").noconvert(),
          nb::arg("table_offsets").noconvert(), nb::arg("factor_scope_offsets").noconvert(), nb::arg("factor_scopes").noconvert(),
          nb::arg("order").noconvert(), nb::arg("owners").noconvert(), nb::arg("scope_offsets").noconvert(),
          nb::arg("scopes").noconvert(), nb::arg("proposal_offsets").noconvert(), nb::arg("proposal_tables").noconvert(),
          nb::arg("log_bound"), nb::arg("node_offsets").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("factor_offsets").noconvert(), nb::arg("factors").noconvert(), nb::arg("states").noconvert(),
          nb::arg("places").noconvert(), nb::arg("values").noconvert(), nb::arg("choice").noconvert(),
          nb::arg("place").noconvert(), nb::arg("seeds").noconvert(), nb::arg("burn_in"), nb::arg("thin"),
          nb::arg("batch_length"), nb::arg("leap"), nb::arg("out").noconvert(), nb::arg("fresh").noconvert(),
          nb::arg("kept").noconvert(), nb::arg("threads"), Release());
    m.def("draw_cases", &draw_cases_of, nb::arg("sizes").noconvert(), nb::arg("counted"), nb::arg("order").noconvert(),
          nb::arg("owners").noconvert(), nb::arg("scope_offsets").noconvert(), nb::arg("scopes").noconvert(),
          nb::arg("offsets").noconvert(), nb::arg("tables").noconvert(), nb::arg("seeds").noconvert(), nb::arg("chunk"),
          nb::arg("x").noconvert(), nb::arg("log_weight").noconvert(), nb::arg("threads"), Release());
}
