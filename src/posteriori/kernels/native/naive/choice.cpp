// The density of each column with which the rows of a sample are best foretold, all columns together.
// densities/choice.py says what is searched and why; left_out.cpp how well each density foretells each row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "densities.hpp"

namespace posteriori {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
constexpr double LITTLE = 1e-9;  // nats: a gain below it is rounding, on which no choice depends

// What a search knows: ln P(y, x) of each row under the choice so far, and the rows' losses.
struct State {
    const Search& s;
    std::size_t size = s.R * s.K;
    std::vector<double> log_joint, now, work, loss, total;
    double rows = 0.0;

    explicit State(const Search& search) : s(search), log_joint(size), now(s.R), work(size), loss(s.R), total(s.R) {
        for (std::size_t i = 0; i < s.R; ++i) rows += s.weights[i];
    }

    const double* part(std::size_t j, std::size_t m) const { return s.parts + (j * s.M + m) * size; }

    // loss_i = ln Σ_y exp − that of the row's own class, of what `work` holds; `work` becomes exponentials.
    void losses(std::vector<double>& into) {
        const std::size_t K = s.K;
        for (std::size_t i = 0; i < s.R; ++i) {
            double* row = work.data() + i * K;
            double top = NEVER;
            for (std::size_t k = 0; k < K; ++k) top = std::max(top, row[k]);
            into[i] = (top == NEVER ? 0.0 : top) - row[s.y[i]];
            for (std::size_t k = 0; k < K; ++k) row[k] -= top == NEVER ? 0.0 : top;
        }
        exp_all(work.data(), size);
        for (std::size_t i = 0; i < s.R; ++i) {
            double sum = 0.0;
            for (std::size_t k = 0; k < K; ++k) sum += work[i * K + k];
            total[i] = sum;
        }
        log_all(total.data(), s.R);
        for (std::size_t i = 0; i < s.R; ++i) into[i] = std::min(into[i] + total[i], s.worst);
    }

    // By how much the mean loss falls (below zero), where that is so many standard errors; else infinite.
    double gain(const std::vector<double>& found, const std::vector<double>& before, double errors) const {
        double mean = 0.0, spread = 0.0;
        for (std::size_t i = 0; i < s.R; ++i) mean += (found[i] - before[i]) * (s.weights[i] / rows);
        if (!(mean < 0.0)) return -NEVER;
        for (std::size_t i = 0; i < s.R; ++i) {
            const double gap = found[i] - before[i] - mean;
            spread += gap * gap * (s.weights[i] / rows);
        }
        return mean + errors * std::sqrt(spread / rows) < -LITTLE ? mean : -NEVER;
    }
};

}  // namespace

std::vector<std::int64_t> search(const Search& s) {
    State state(s);
    std::vector<double> whole[2], losses[2] = {std::vector<double>(s.R), std::vector<double>(s.R)};
    for (const int which : {0, 1}) {
        whole[which].assign(s.start, s.start + state.size);
        for (std::size_t j = 0; j < s.d; ++j) {
            const double* part = state.part(j, which ? s.second : s.first);
            for (std::size_t i = 0; i < state.size; ++i) whole[which][i] += part[i];
        }
        state.work = whole[which];
        state.losses(losses[which]);
    }
    const int begin = state.gain(losses[1], losses[0], s.lead) < 0.0;
    std::vector<std::int64_t> chosen(s.d, static_cast<std::int64_t>(begin ? s.second : s.first));
    state.log_joint = whole[begin], state.now = losses[begin];
    std::vector<double> best_loss(s.R);
    for (int round = 0; round < s.rounds; ++round) {
        bool changed = false;
        for (std::size_t j = 0; j < s.d; ++j) {
            const auto is = static_cast<std::size_t>(chosen[j]);
            const double* old = state.part(j, is);
            double best = 0.0;
            std::size_t which = is;
            for (std::size_t m = s.M; m-- > 0;) {  // of those as good the last one, `none` before all
                if (m == is) continue;
                const double* part = state.part(j, m);
                for (std::size_t i = 0; i < state.size; ++i) state.work[i] = state.log_joint[i] - old[i] + part[i];
                state.losses(state.loss);
                const double gained = state.gain(state.loss, state.now, s.errors[m]);
                if (gained < best - LITTLE) best = gained, which = m, best_loss = state.loss;
            }
            if (which == is) continue;
            const double* part = state.part(j, which);
            for (std::size_t i = 0; i < state.size; ++i) state.log_joint[i] = state.log_joint[i] - old[i] + part[i];
            state.now = best_loss;
            chosen[j] = static_cast<std::int64_t>(which), changed = true;
        }
        if (!changed) break;
    }
    return chosen;
}

}  // namespace posteriori
