#include "proposal.hpp"

#include <algorithm>
#include <limits>

namespace posteriori {
namespace {

// The weights of the states of a node given the nodes before it; returns their sum.
double weigh(const ProposalNode& node, const std::int32_t* x, std::vector<double>& weight) {
    weight.assign(node.size, 1.0);
    for (const CaseTable& table : node.tables) {
        const double* row = table.table + table.place(x);
        for (int k = 0; k < node.size; ++k) weight[k] *= row[k * table.own];
    }
    double total = 0;
    for (double w : weight) total += w;
    if (total > 1e-250) return total;
    double top = -std::numeric_limits<double>::infinity();  // products of many small cells, in logarithms
    for (int k = 0; k < node.size; ++k) {
        weight[k] = 0;
        for (const CaseTable& table : node.tables) weight[k] += std::log(table.table[table.place(x) + k * table.own]);
        top = std::max(top, weight[k]);
    }
    if (!std::isfinite(top)) weight.assign(node.size, top = 0.0);  // a dead end: P(x, e) is zero whatever is drawn now
    total = 0;
    for (double& w : weight) total += w = std::exp(w - top);
    return total;
}

}  // namespace

double Proposal::draw(Xoshiro& random, std::int32_t* x) const {
    std::vector<double> weight;
    LogProduct q;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const ProposalNode& node = nodes[i];
        const double total = weigh(node, x, weight);
        const auto state = random.pick([&](std::int64_t k) { return weight[k]; }, node.size, total);
        x[node.node] = static_cast<std::int32_t>(state);
        if (i < counted) q.times(weight[state] / total);
    }
    return q.value();
}

double Proposal::log_density(const std::int32_t* x) const {
    std::vector<double> weight;
    LogProduct q;
    for (std::size_t i = 0; i < counted; ++i) {
        const double total = weigh(nodes[i], x, weight);
        q.times(weight[x[nodes[i].node]] / total);
    }
    return q.value();
}

void draw_cases(const Proposal& proposal, const std::vector<CaseTable>& terms, std::int64_t rows, std::int64_t width,
                std::uint64_t seed, std::int32_t* x, double* log_weight) {
    Xoshiro random(seed);
    for (std::int64_t r = 0; r < rows; ++r, x += width) {
        const double log_q = proposal.draw(random, x);
        LogProduct p;
        for (const CaseTable& term : terms) p.times(term.table[term.place(x)]);
        log_weight[r] = p.value() - log_q;
    }
}

}  // namespace posteriori
