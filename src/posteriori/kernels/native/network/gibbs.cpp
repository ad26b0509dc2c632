#include "gibbs.hpp"

#include <algorithm>
#include <cmath>

#include "xoshiro.hpp"

namespace posteriori {
namespace {

constexpr double kLeastProduct = 1e-250;  // below, products are taken in logarithms: they may have lost their digits
constexpr int kFirstLeaps = 200;          // tried in a row before the burn-in: a chain begins at a likely place

// Π_f θ_f for every joint state of the block, up to scale; returns their sum.
double weigh(const GibbsBlock& block, const double* tables, const std::int64_t* base, double* weight) {
    const std::size_t count = block.factors.size();
    double total = 0;
    for (std::int64_t j = 0; j < block.states; ++j) {
        const std::int64_t* offset = block.offset + j * count;
        double product = tables[base[0] + offset[0]];
        for (std::size_t i = 1; i < count; ++i) product *= tables[base[i] + offset[i]];
        weight[j] = product;
        total += product;
    }
    if (total > kLeastProduct) return total;
    for (std::int64_t j = 0; j < block.states; ++j) {
        weight[j] = 0;
        for (std::size_t i = 0; i < count; ++i) weight[j] += std::log(tables[base[i] + block.offset[j * count + i]]);
    }
    const double top = *std::max_element(weight, weight + block.states);
    total = 0;
    for (std::int64_t j = 0; j < block.states; ++j) total += weight[j] = std::exp(weight[j] - top);
    return total;
}

// Proposes whole cases, and knows how to write one down as joint states of the blocks.
class Leaper {
public:
    explicit Leaper(const GibbsPlan& plan) : plan_(plan), now_(plan.fixed), next_(plan.fixed), place_(plan.factors.size()), choice_(plan.blocks.size()) {}

    void leap(Xoshiro& random, std::int64_t* choice, std::int64_t* place) {
        for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
            const GibbsBlock& block = plan_.blocks[b];
            const std::int32_t* value = block.value + choice[b] * static_cast<std::int64_t>(block.nodes.size());
            for (std::size_t k = 0; k < block.nodes.size(); ++k) now_[block.nodes[k]] = value[k];
        }
        const double log_q = plan_.proposal.draw(random, next_.data());
        LogProduct next, now;
        for (std::size_t f = 0; f < place_.size(); ++f) {
            const CaseTable& factor = plan_.factors[f];
            place_[f] = factor.table - plan_.tables + factor.place(next_.data());
            next.times(plan_.tables[place_[f]]);
            now.times(plan_.tables[place[f]]);
        }
        const double log_weight = next.value() - log_q;
        fresh += std::exp(log_weight - plan_.log_bound);
        const double log_ratio = log_weight - (now.value() - plan_.proposal.log_density(now_.data()));
        if (!(std::log(random.uniform()) < log_ratio)) return;
        for (std::size_t b = 0; b < plan_.blocks.size(); ++b)
            if ((choice_[b] = joint_state(plan_.blocks[b])) < 0) return;  // no state of the block
        std::copy(place_.begin(), place_.end(), place);
        std::copy(choice_.begin(), choice_.end(), choice);
    }

    double fresh = 0;

private:
    // The joint states of a block are in lexicographic order; −1 where the case has none of them.
    std::int64_t joint_state(const GibbsBlock& block) const {
        const std::size_t width = block.nodes.size();
        std::int64_t low = 0, high = block.states;
        while (high - low > 1) {
            const std::int64_t middle = (low + high) / 2;
            const std::int32_t* row = block.value + middle * width;
            std::size_t k = 0;
            while (k < width && row[k] == next_[block.nodes[k]]) ++k;
            (k == width || row[k] < next_[block.nodes[k]] ? low : high) = middle;
        }
        for (std::size_t k = 0; k < width; ++k)
            if (block.value[low * static_cast<std::int64_t>(width) + static_cast<std::int64_t>(k)] != next_[block.nodes[k]]) return -1;
        return low;
    }

    const GibbsPlan& plan_;
    std::vector<std::int32_t> now_, next_;
    std::vector<std::int64_t> place_, choice_;
};

}  // namespace

double gibbs_chain(const GibbsPlan& plan, const GibbsSchedule& schedule, std::uint64_t seed, std::int64_t* choice,
                   std::int64_t* place, double* out, std::int32_t* kept) {
    std::size_t most_states = 1, most_factors = 1;
    for (const GibbsBlock& block : plan.blocks) {
        most_states = std::max<std::size_t>(most_states, block.states);
        most_factors = std::max(most_factors, block.factors.size());
    }
    std::vector<double> weight(most_states);
    std::vector<std::int64_t> base(most_factors);
    Xoshiro random(seed);

    const bool pure = schedule.leap == 0;
    auto step = [&](std::size_t b, double* sums) {
        const GibbsBlock& block = plan.blocks[b];
        const std::size_t count = block.factors.size();
        const std::int64_t* now = block.offset + choice[b] * count;
        for (std::size_t i = 0; i < count; ++i) base[i] = place[block.factors[i]] - now[i];
        const double total = weigh(block, plan.tables, base.data(), weight.data());
        if (sums && !pure) {
            const double share = 1 / total;
            const std::int32_t* value = block.value;
            for (std::int64_t j = 0; j < block.states; ++j)
                for (int v : block.nodes) sums[plan.marginal[v] + *value++] += weight[j] * share;
        }
        choice[b] = random.pick([&](std::int64_t j) { return weight[j]; }, block.states, total);
        const std::int64_t* next = block.offset + choice[b] * count;
        for (std::size_t i = 0; i < count; ++i) place[block.factors[i]] = base[i] + next[i];
        if (!sums || !pure) return;
        const std::int32_t* drawn = block.value + choice[b] * static_cast<std::int64_t>(block.nodes.size());
        for (int v : block.nodes) sums[plan.marginal[v] + *drawn++] += 1;
    };
    std::int64_t sweeps = 0;
    Leaper leaper(plan);
    auto sweep = [&](double* sums) {
        if (!pure && ++sweeps % schedule.leap == 0) leaper.leap(random, choice, place);
        for (std::size_t b = 0; b < plan.blocks.size(); ++b) step(b, sums);
    };

    for (int i = 0; !pure && schedule.burn_in > 0 && i < kFirstLeaps; ++i) leaper.leap(random, choice, place);
    for (std::int64_t i = 0; i < schedule.burn_in; ++i) sweep(nullptr);
    leaper.fresh = 0;  // of what came before, the kept sweeps saw no more than where it ended
    for (std::int64_t batch = 0; batch < schedule.batches; ++batch) {
        double* sums = out + batch * plan.width;
        std::fill(sums, sums + plan.width, 0.0);
        for (std::int64_t i = 0; i < schedule.batch_length; ++i) {
            for (std::int64_t skip = 1; skip < schedule.thin; ++skip) sweep(nullptr);
            sweep(sums);
            if (!kept) continue;
            std::copy(plan.fixed.begin(), plan.fixed.end(), kept);
            for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
                const std::int32_t* value = plan.blocks[b].value + choice[b] * static_cast<std::int64_t>(plan.blocks[b].nodes.size());
                for (int v : plan.blocks[b].nodes) kept[v] = *value++;
            }
            kept += plan.fixed.size();
        }
        for (std::int64_t i = 0; i < plan.width; ++i) sums[i] /= static_cast<double>(schedule.batch_length);
    }
    return leaper.fresh;
}

}  // namespace posteriori
