#include "gibbs.hpp"

#include <algorithm>
#include <cmath>

#include "loops.hpp"
#include "xoshiro.hpp"

namespace posteriori {
namespace {

constexpr std::size_t kManyFactors = 40;  // beyond this a product of probabilities could underflow
constexpr int kFirstLeaps = 200;          // tried in a row before the burn-in: a chain begins at a likely place

// Π_f θ_f for every joint state of the block, up to scale; returns their sum.
double weigh(const GibbsBlock& block, const double* tables, const std::int64_t* base, double* weight) {
    const std::size_t count = block.factors.size();
    double total = 0;
    if (count > kManyFactors) {
        for (std::int64_t j = 0; j < block.states; ++j) {
            double sum = 0;
            for (std::size_t i = 0; i < count; ++i) sum += std::log(tables[base[i] + block.offset[j * count + i]]);
            weight[j] = sum;
        }
        from_logs(weight, block.states);
        for (std::int64_t j = 0; j < block.states; ++j) total += weight[j];
        return total;
    }
    for (std::int64_t j = 0; j < block.states; ++j) {
        const std::int64_t* offset = block.offset + j * count;
        double product = tables[base[0] + offset[0]];
        for (std::size_t i = 1; i < count; ++i) product *= tables[base[i] + offset[i]];
        weight[j] = product;
        total += product;
    }
    return total;
}

// Proposes whole states, and knows how to write one down as joint states of the blocks.
class Leaper {
public:
    explicit Leaper(const GibbsPlan& plan) : plan_(plan), x_(plan.forward.size()), place_(plan.forward.size() + plan.soft.size()) {}

    void leap(Xoshiro& random, std::int64_t* choice, std::int64_t* place) {
        double log_ratio = 0;
        for (const ForwardNode& node : plan_.forward) {
            std::int64_t row = 0;
            for (std::size_t i = 0; i < node.parents.size(); ++i) row += node.strides[i] * x_[node.parents[i]];
            const double* theta = node.table + row;
            x_[node.node] = node.fixed >= 0 ? node.fixed : static_cast<int>(random.pick([&](std::int64_t k) { return theta[k]; }, node.size, 1.0));
            place_[node.node] = theta - plan_.tables + x_[node.node];
            if (node.fixed >= 0) log_ratio += std::log(plan_.tables[place_[node.node]]) - std::log(plan_.tables[place[node.node]]);
        }
        for (std::size_t i = 0; i < plan_.soft.size(); ++i) {
            const std::size_t f = plan_.forward.size() + i;
            const int v = plan_.soft[i];
            place_[f] = plan_.soft_begin[i] + x_[v];
            log_ratio += std::log(plan_.tables[place_[f]]) - std::log(plan_.tables[place[f]]);
        }
        if (!(std::log(random.uniform()) < log_ratio)) return;
        std::copy(place_.begin(), place_.end(), place);
        for (std::size_t b = 0; b < plan_.blocks.size(); ++b) choice[b] = joint_state(plan_.blocks[b]);
    }

private:
    // The joint states of a block are in lexicographic order.
    std::int64_t joint_state(const GibbsBlock& block) const {
        const std::size_t width = block.nodes.size();
        std::int64_t low = 0, high = block.states;
        while (high - low > 1) {
            const std::int64_t middle = (low + high) / 2;
            const std::int32_t* row = block.value + middle * width;
            std::size_t k = 0;
            while (k < width && row[k] == x_[block.nodes[k]]) ++k;
            (k == width || row[k] < x_[block.nodes[k]] ? low : high) = middle;
        }
        return low;
    }

    const GibbsPlan& plan_;
    std::vector<int> x_;
    std::vector<std::int64_t> place_;
};

}  // namespace

void gibbs_chain(const GibbsPlan& plan, const GibbsSchedule& schedule, std::uint64_t seed, std::int64_t* choice,
                 std::int64_t* place, double* out) {
    std::size_t most_states = 1, most_factors = 1;
    for (const GibbsBlock& block : plan.blocks) {
        most_states = std::max<std::size_t>(most_states, block.states);
        most_factors = std::max(most_factors, block.factors.size());
    }
    std::vector<double> weight(most_states);
    std::vector<std::int64_t> base(most_factors);
    Xoshiro random(seed);

    auto step = [&](std::size_t b, double* sums) {
        const GibbsBlock& block = plan.blocks[b];
        const std::size_t count = block.factors.size();
        const std::int64_t* now = block.offset + choice[b] * count;
        for (std::size_t i = 0; i < count; ++i) base[i] = place[block.factors[i]] - now[i];
        const double total = weigh(block, plan.tables, base.data(), weight.data());
        if (sums) {
            const double share = 1 / total;
            const std::int32_t* value = block.value;
            for (std::int64_t j = 0; j < block.states; ++j)
                for (int v : block.nodes) sums[plan.marginal[v] + *value++] += weight[j] * share;
        }
        choice[b] = random.pick([&](std::int64_t j) { return weight[j]; }, block.states, total);
        const std::int64_t* next = block.offset + choice[b] * count;
        for (std::size_t i = 0; i < count; ++i) place[block.factors[i]] = base[i] + next[i];
    };
    std::int64_t sweeps = 0;
    Leaper leaper(plan);
    auto sweep = [&](double* sums) {
        if (++sweeps % schedule.leap == 0) leaper.leap(random, choice, place);
        for (std::size_t b = 0; b < plan.blocks.size(); ++b) step(b, sums);
    };

    for (int i = 0; schedule.burn_in > 0 && i < kFirstLeaps; ++i) leaper.leap(random, choice, place);
    for (std::int64_t i = 0; i < schedule.burn_in; ++i) sweep(nullptr);
    for (std::int64_t batch = 0; batch < schedule.batches; ++batch) {
        double* sums = out + batch * plan.width;
        std::fill(sums, sums + plan.width, 0.0);
        for (std::int64_t i = 0; i < schedule.batch_length; ++i) {
            for (std::int64_t skip = 1; skip < schedule.thin; ++skip) sweep(nullptr);
            sweep(sums);
        }
        for (std::int64_t i = 0; i < plan.width; ++i) sums[i] /= static_cast<double>(schedule.batch_length);
    }
}

}  // namespace posteriori
