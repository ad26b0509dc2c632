// What is read off the messages: joints, the most probable state, tables of cases.
#include <algorithm>
#include <mutex>

#include "junction.hpp"
#include "threads.hpp"

namespace posteriori {

bool State::joint(const std::vector<int>& nodes, std::vector<double>& out) {
    int best = -1;
    for (int c : plan_->containing[nodes[0]]) {
        const auto& held = plan_->cliques[c].nodes;
        const bool all = std::all_of(nodes.begin(), nodes.end(),
                                     [&](int v) { return std::find(held.begin(), held.end(), v) != held.end(); });
        if (all && (best < 0 || cells_[c] < cells_[best])) best = c;
    }
    if (best < 0) return false;
    const Clique& clique = plan_->cliques[best];
    std::vector<Index> stride(plan_->sizes.size(), 0);
    Index cells = 1, base = 0;
    for (auto v = nodes.rbegin(); v != nodes.rend(); ++v) {
        stride[*v] = cells;
        if (now_.hard[*v] >= 0) base += now_.hard[*v] * cells;
        cells *= plan_->sizes[*v];
    }
    out.assign(cells, 0.0);
    Nest nest;
    for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= 0; --k)
        if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], stride[clique.nodes[k]]);
    sweep<Add>(nest, weighted(best), out.data() + base);
    return normalise(out.data(), cells);
}

void batch(const std::shared_ptr<const Plan>& plan, const int* cases, Index rows, const std::vector<int>& targets, double* out,
           char* possible, int threads) {
    const Index d = static_cast<Index>(plan->sizes.size());
    Index width = 0;
    for (int v : targets) width += plan->sizes[v];
    constexpr Index chunk = 16;
    std::mutex guard;
    std::vector<std::unique_ptr<State>> idle;  // one state a thread, handed on from chunk to chunk
    parallel_for((rows + chunk - 1) / chunk, threads, [&](std::size_t task) {
        std::unique_ptr<State> state;
        {
            std::lock_guard<std::mutex> hold(guard);
            if (!idle.empty()) state = std::move(idle.back()), idle.pop_back();
        }
        if (!state) {
            state = std::make_unique<State>(plan);
            state->only(targets);
        }
        Findings findings(d);
        for (Index r = task * chunk; r < std::min<Index>(rows, (task + 1) * chunk); ++r) {
            std::copy(cases + r * d, cases + (r + 1) * d, findings.hard.begin());
            state->set(findings);
            state->reset();  // every case from nothing: its answer is free of the case before it
            possible[r] = state->collect() && state->distribute();
            double* mine = out + r * width;
            for (int v : targets) {
                const double* from = state->marginals().data() + plan->offsets[v];
                mine = possible[r] ? std::copy(from, from + plan->sizes[v], mine) : std::fill_n(mine, plan->sizes[v], 0.0);
            }
        }
        std::lock_guard<std::mutex> hold(guard);
        idle.push_back(std::move(state));
    });
}

}  // namespace posteriori
