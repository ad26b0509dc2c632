// Expected counts of families: the posterior of the clique that holds a family, onto the family.
#include <algorithm>
#include <limits>

#include "junction.hpp"
#include "threads.hpp"

namespace posteriori {

void State::expect(double weight, const Index* offsets, double* out) {
    const int m = static_cast<int>(plan_->cliques.size());
    auto open = [&](int t) {
        const auto& parents = plan_->parents[t];
        return now_.hard[t] < 0 || std::any_of(parents.begin(), parents.end(), [&](int p) { return now_.hard[p] < 0; });
    };
    std::vector<char> here(m, 0), below(m, 0);
    for (int c = m - 1; c >= 0; --c) {
        const Clique& clique = plan_->cliques[c];
        here[c] = std::any_of(clique.tables.begin(), clique.tables.end(), open);
        below[c] |= here[c];
        if (below[c] && clique.parent >= 0 && message_cells_[c] > 1) below[clique.parent] = 1;  // it needs its separator
    }
    stride_.resize(plan_->sizes.size(), 0);
    for (int c = 0; c < m; ++c) {
        if (!below[c]) continue;
        const Clique& clique = plan_->cliques[c];
        const double* posterior = weighted(c);
        for (std::size_t j = 0; j < clique.children.size(); ++j) {
            const int child = clique.children[j];
            const Index n = message_cells_[child];
            if (!below[child] || n == 1) continue;
            double* separator = separator_.data() + plan_->cliques[child].message_place;
            std::fill(separator, separator + n, 0.0);
            sweep<Add>(over_message(c, &clique.shared[j]), posterior, separator);
            normalise(separator, n);
        }
        if (!here[c]) continue;
        share_.assign(posterior, posterior + cells_[c]);
        if (!normalise(share_.data(), cells_[c])) continue;
        for (double& p : share_) p *= weight;
        for (int t : clique.tables) {
            if (!open(t)) continue;
            Index step = 1, base = 0;
            auto axis = [&](int v) {
                stride_[v] = step;
                if (now_.hard[v] >= 0) base += now_.hard[v] * step;
                step *= plan_->sizes[v];
            };
            axis(t);
            for (auto p = plan_->parents[t].rbegin(); p != plan_->parents[t].rend(); ++p) axis(*p);
            Nest nest;
            for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= 0; --k)
                if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], stride_[clique.nodes[k]]);
            sweep<Add>(nest, share_.data(), out + offsets[t] + base);
            stride_[t] = 0;
            for (int p : plan_->parents[t]) stride_[p] = 0;
        }
    }
}

void expected(const std::shared_ptr<const Plan>& plan, const int* cases, const double* weights, Index rows, const Index* offsets,
              Index parts, double* out, double* log_probability, int threads) {
    const Index d = static_cast<Index>(plan->sizes.size()), cells = offsets[d];
    parallel_for(static_cast<std::size_t>(parts), threads, [&](std::size_t part) {
        State state(plan);
        Findings findings(d);
        double* mine = out + static_cast<Index>(part) * cells;
        std::fill(mine, mine + cells, 0.0);
        const Index end = rows * (static_cast<Index>(part) + 1) / parts;
        for (Index r = rows * static_cast<Index>(part) / parts; r < end; ++r) {
            std::copy(cases + r * d, cases + (r + 1) * d, findings.hard.begin());
            state.set(findings);
            state.reset();
            const bool possible = state.collect();
            log_probability[r] = possible ? state.log_probability() : -std::numeric_limits<double>::infinity();
            if (possible) state.expect(weights[r], offsets, mine);
        }
    });
}

}  // namespace posteriori
