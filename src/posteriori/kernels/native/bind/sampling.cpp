// Networks by sampling: Gibbs chains, and weighted cases.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "network/gibbs.hpp"
#include "network/proposal.hpp"
#include "threads.hpp"
#include "bind.hpp"

using namespace posteriori;

namespace {

using Longs = InC<std::int64_t, 1>;
using Scoped = std::vector<std::pair<std::vector<int>, InC<double, 1>>>;  // scope and flat table of each
using Drawn = std::vector<std::pair<int, Scoped>>;  // nodes in the order they are drawn, each with the tables whose product draws it

// Tables with the axes scopes[i], end to end, each as long as its axes call for.
struct Tables {
    Tables(const Scoped& given, const std::vector<int>& sizes_given) : sizes(sizes_given), offsets{0} {
        for (const auto& [scope, table] : given) {
            scopes.push_back(scope);
            data.insert(data.end(), table.data(), table.data() + table.shape(0));
            offsets.push_back(static_cast<std::int64_t>(data.size()));
        }
        need_sizes(sizes);
        need_lists(scopes, sizes.size());
        for (std::size_t i = 0; i < scopes.size(); ++i) {
            double length = 1;
            for (int v : scopes[i]) length *= sizes[v];
            need(length <= static_cast<double>(offsets[i + 1] - offsets[i]), "a table is shorter than its scope");
        }
    }

    // `drawn` is a node whose axis is kept apart, or −1.
    CaseTable at(std::size_t i, int drawn = -1) const {
        CaseTable made;
        made.table = data.data() + offsets[i];
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
    std::vector<std::int64_t> offsets;
    std::vector<double> data;
};

// The tables of all nodes, and `more`.
Scoped tables_of(const Drawn& drawn, const Scoped& more = {}) {
    Scoped all;
    for (const auto& [node, tables] : drawn) all.insert(all.end(), tables.begin(), tables.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// Each node is drawn by its own of the `tables`, whose other nodes are `known` or drawn before it.
Proposal proposal_of(const Drawn& drawn, const Tables& tables, std::vector<char>& known) {
    Proposal proposal;
    proposal.counted = drawn.size();
    std::size_t f = 0;
    for (const auto& [v, own] : drawn) {
        need(v >= 0 && static_cast<std::size_t>(v) < known.size() && !known[v], "a node is drawn twice, or drawn and held");
        ProposalNode node{v, tables.sizes[v], {}};
        for (std::size_t i = 0; i < own.size(); ++i) {
            node.tables.push_back(tables.at(f++, v));
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

// A block's nodes, its factors, the places of these in each joint state, and the states.
using Block = std::tuple<std::vector<int>, std::vector<int>, InC<std::int64_t, 2>, InC<std::int32_t, 2>>;

// The factors' tables are walked; the proposal of the leaps has its own.
nb::tuple gibbs(const std::vector<int>& sizes, const std::vector<std::int32_t>& fixed, const Scoped& factors, const std::pair<Drawn, double>& leaps,
                const std::vector<Block>& blocks, OutC<std::int64_t, 2> choice, OutC<std::int64_t, 2> place, InC<std::uint64_t, 1> seeds,
                const std::array<std::int64_t, 5>& schedule_given, int threads, bool keep) {
    const auto [burn_in, thin, batches, batch_length, leap] = schedule_given;
    const std::size_t n = sizes.size(), chains = seeds.shape(0), count = blocks.size();
    const Tables parts(factors, sizes), drawn(tables_of(leaps.first), sizes);
    GibbsPlan plan;
    plan.tables = parts.data.data();
    for (std::size_t f = 0; f < parts.scopes.size(); ++f) plan.factors.push_back(parts.at(f));
    need(fixed.size() == n, "every node has a state or none");
    std::vector<char> known(n, 0);
    for (std::size_t v = 0; v < n; ++v) {
        need(fixed[v] < sizes[v], "a finding names a state that is not there");
        known[v] = fixed[v] >= 0;
    }
    plan.proposal = proposal_of(leaps.first, drawn, known);
    for (char one : known) need(one, "a leap leaves a node out");
    plan.fixed = fixed;
    plan.log_bound = leaps.second;
    need(burn_in >= 0 && thin > 0 && batches >= 0 && batch_length > 0 && leap >= 0, "no such schedule");
    need(static_cast<double>(batches) * static_cast<double>(batch_length) < 0x1p50, "more sweeps than there is time");
    need(choice.shape(0) == chains && choice.shape(1) == count && place.shape(0) == chains && place.shape(1) == plan.factors.size(),
         "blocks or chains differ in number");
    std::int64_t begin = 0;
    for (std::size_t v = 0; v < n; begin += sizes[v++]) plan.marginal.push_back(begin);
    plan.width = begin;
    for (const auto& [nodes, own, places, values] : blocks) {
        need_lists({nodes}, n);
        need_lists({own}, plan.factors.size());
        const std::size_t states = values.shape(0);
        need(!nodes.empty() && !own.empty() && states > 0 && places.shape(0) == states && places.shape(1) == own.size() && values.shape(1) == nodes.size(),
             "a block without nodes, factors or states");
        plan.blocks.push_back({nodes, own, static_cast<std::int64_t>(states), places.data(), values.data()});
    }
    check_blocks(plan, sizes, choice, place);
    const GibbsSchedule schedule{burn_in, thin, batches, batch_length, leap};
    const auto rounds = static_cast<std::size_t>(batches), width = static_cast<std::size_t>(begin);
    const std::size_t sweeps = keep ? rounds * static_cast<std::size_t>(batch_length) : 0;
    const auto out = empty<double>({chains, rounds, width}), fresh = empty<double>({chains});
    const auto kept = empty<std::int32_t>({chains, sweeps, n});
    without_gil([&] {
        parallel_for(chains, threads, [&](std::size_t chain) {
            fresh.data[chain] = gibbs_chain(plan, schedule, seeds.data()[chain], choice.data() + chain * choice.shape(1),
                                            place.data() + chain * place.shape(1), out.data + chain * rounds * width,
                                            sweeps ? kept.data + chain * sweeps * n : nullptr);
        });
    });
    return nb::make_tuple(out.array, fresh.array, kept.array);
}

constexpr std::int64_t CHUNK = 1024;  // cases a seed: fixed, so that threads change no draw

// `fixed` holds the states of the nodes that are not drawn.
nb::tuple draw_cases_of(const std::vector<int>& sizes, const std::vector<std::int32_t>& fixed, const Drawn& drawn, std::size_t counted,
                        const Scoped& own_terms, InC<std::uint64_t, 1> seeds, std::int64_t rows, int threads) {
    const std::size_t n = sizes.size();
    const Tables parts(tables_of(drawn, own_terms), sizes);
    need(fixed.size() == n, "every node has a state or none");
    need(rows >= 0 && seeds.shape(0) == static_cast<std::size_t>((rows + CHUNK - 1) / CHUNK), "every chunk has a seed");
    std::vector<char> known(n, 1);
    for (const auto& [v, tables] : drawn) {
        need(v >= 0 && static_cast<std::size_t>(v) < n, "no such node");
        known[v] = 0;
    }
    for (std::size_t v = 0; v < n; ++v) need(!known[v] || !rows || (fixed[v] >= 0 && fixed[v] < sizes[v]), "a node that is not drawn has no state");
    Proposal proposal = proposal_of(drawn, parts, known);
    need(counted <= drawn.size(), "more nodes are counted than drawn");
    proposal.counted = counted;
    std::vector<CaseTable> terms;
    for (std::size_t f = parts.scopes.size() - own_terms.size(); f < parts.scopes.size(); ++f) terms.push_back(parts.at(f));
    const auto width = static_cast<std::int64_t>(n);
    const auto x = empty<std::int32_t>({static_cast<std::size_t>(rows), n});
    const auto log_weight = empty<double>({static_cast<std::size_t>(rows)});
    without_gil([&] {
        for (std::int64_t r = 0; r < rows; ++r) std::copy(fixed.begin(), fixed.end(), x.data + r * width);
        parallel_for(seeds.shape(0), threads, [&](std::size_t task) {
            const std::int64_t first = static_cast<std::int64_t>(task) * CHUNK;
            draw_cases(proposal, terms, std::min(CHUNK, rows - first), width, seeds.data()[task], x.data + first * width, log_weight.data + first);
        });
    });
    return nb::make_tuple(x.array, log_weight.array);
}

}  // namespace

void bind_sampling(nb::module_& m) {
    m.attr("CHUNK") = CHUNK;
    m.def("gibbs_chains", &gibbs, nb::arg("sizes"), nb::arg("fixed"), nb::arg("factors"), nb::arg("proposal"), nb::arg("blocks"),
          as_is("choice"), as_is("place"), as_is("seeds"), nb::arg("schedule"), nb::arg("threads"), nb::arg("keep") = false);
    m.def("draw_cases", &draw_cases_of, nb::arg("sizes"), nb::arg("fixed"), nb::arg("proposal"), nb::arg("counted"), nb::arg("terms"),
          as_is("seeds"), nb::arg("rows"), nb::arg("threads"));
}
