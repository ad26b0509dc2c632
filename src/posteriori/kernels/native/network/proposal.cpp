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

// ln of the share of one state, of a node whose weights may fall below all numbers beside each other.
double log_share(const ProposalNode& node, const std::int32_t* x, std::int32_t state) {
    std::vector<double> log(node.size, 0.0);
    for (int k = 0; k < node.size; ++k)
        for (const CaseTable& table : node.tables) log[k] += std::log(table.table[table.place(x) + k * table.own]);
    const double top = *std::max_element(log.begin(), log.end());
    if (!std::isfinite(top)) return -std::log(node.size);
    double total = 0;
    for (double l : log) total += std::exp(l - top);
    return log[state] - top - std::log(total);
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
    double least = 0;
    for (std::size_t i = 0; i < counted; ++i) {
        const double total = weigh(nodes[i], x, weight);
        const double share = weight[x[nodes[i].node]] / total;
        if (share > 1e-290)
            q.times(share);
        else  // of a state that would never be drawn: were it none, a chain that stands there could not leap away
            least += log_share(nodes[i], x, x[nodes[i].node]);
    }
    return q.value() + least;
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
