#include <algorithm>
#include <cmath>

#include "junction.hpp"
#include "threads.hpp"
#include "xoshiro.hpp"

namespace posteriori {

// From the roots down: the fresh axes of a clique are drawn from its belief, given the separator drawn before.
void State::sample(Index rows, const std::uint64_t* seeds, Index chunk, int threads, std::int32_t* out) const {
    const auto& cliques = plan_->cliques;
    const Index d = static_cast<Index>(plan_->sizes.size());
    // A clique whose separator is empty or observed draws from the same table every time: its running sums are kept.
    std::vector<std::vector<double>> running(cliques.size());
    for (std::size_t c = 0; c < cliques.size(); ++c) {
        if (message_cells_[c] != 1) continue;
        const double* belief = belief_.data() + cliques[c].place;
        double sum = 0;
        for (Index i = 0; i < cells_[c]; ++i) running[c].push_back(sum += logs_[c] ? std::exp(belief[i]) : belief[i]);
    }
    auto draw = [&](Xoshiro& random, std::int32_t* x) {
        std::copy(now_.hard.begin(), now_.hard.end(), x);
        for (std::size_t c = 0; c < cliques.size(); ++c) {
            const Clique& clique = cliques[c];
            const Index step = message_cells_[c], options = cells_[c] / step;
            Index given = 0, rest = 0;
            if (step == 1) {
                const auto& sums = running[c];
                rest = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back()) - sums.begin();
                rest = std::min(rest, options - 1);
            } else {
                for (std::size_t k = clique.fresh; k < clique.nodes.size(); ++k)
                    if (now_.hard[clique.nodes[k]] < 0) given = given * plan_->sizes[clique.nodes[k]] + x[clique.nodes[k]];
                const double* belief = belief_.data() + clique.place + given;
                const double log_sum = logs_[c] ? log_message(static_cast<int>(c), given) : 0.0;
                auto weight = [&](Index i) { return logs_[c] ? std::exp(belief[i * step] - log_sum) : belief[i * step]; };
                double total = 0;
                for (Index i = 0; i < options; ++i) total += weight(i);
                rest = random.pick(weight, options, total);
            }
            for (int k = clique.fresh - 1; k >= 0; --k) {
                const int v = clique.nodes[k];
                if (now_.hard[v] >= 0) continue;
                x[v] = static_cast<std::int32_t>(rest % plan_->sizes[v]);
                rest /= plan_->sizes[v];
            }
        }
    };
    parallel_for((rows + chunk - 1) / chunk, threads, [&](std::size_t task) {
        Xoshiro random(seeds[task]);
        for (Index r = task * chunk; r < std::min<Index>(rows, (task + 1) * chunk); ++r) draw(random, out + r * d);
    });
}

}  // namespace posteriori
