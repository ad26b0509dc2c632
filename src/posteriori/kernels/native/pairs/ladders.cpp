#include "ladders.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "blocks.hpp"
#include "naive/naive.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::size_t kTask = 4096;      // rows of a task
constexpr std::size_t kNumbers = 16384;  // of joints held at once: they stay in the near cache
constexpr std::int64_t kNothing = -1;

struct Losses {
    double log = 0.0, squared = 0.0, errors = 0.0;
};

// A block of rows: ln P(y, x_1 … x_t) of each k lies as [k][y][row].
class Block {
  public:
    Block(const Ladders& ladders, std::size_t rows)
        : l_(ladders), B_(rows), codes_(ladders.columns.size() * rows), joint_((ladders.most + 1) * ladders.n_classes * rows),
          share_(ladders.n_classes * rows), top_(rows), at_(rows), context_(rows), y_(rows) {}

    // The losses of rows [begin, begin + n) are added to parts[k][t].
    void judge(const Column& y, const double* weights, std::size_t begin, std::size_t n, Losses* parts) {
        const std::size_t K = l_.n_classes, T = l_.steps.size();
        n_ = n;
        read_classes(y, begin, n, K, y_.data());
        for (std::size_t j = 0; j < l_.columns.size(); ++j)
            read_codes(l_.columns[j], begin, n, std::numeric_limits<std::uint32_t>::max(), "column", j, codes_.data() + j * B_);
        for (std::size_t k = 0; k <= l_.most; ++k)
            for (std::size_t c = 0; c < K; ++c) std::fill_n(joint_.data() + (k * K + c) * B_, B_, l_.start[c]);
        for (std::size_t t = 0; t <= T; ++t) {
            if (t) climb(l_.steps[t - 1]);
            if (l_.every || t == T)
                for (std::size_t k = 0; k <= l_.most; ++k) lose(k, weights, parts[k * (T + 1) + t]);
        }
    }

  private:
    // Adds a step's rungs: rung l to the joint of l parents, the last one to those of more parents too.
    void climb(const Ladder& step) {
        const auto child = static_cast<std::size_t>(step.family[0]);
        const std::uint32_t size = l_.sizes[child], *x = codes_.data() + child * B_;
        for (std::size_t r = 0; r < n_; ++r) {
            at_[r] = x[r] < size ? step.begins[0] + x[r] : kNothing;
            context_[r] = x[r] < size ? 0 : kNothing;
        }
        for (std::size_t rung = 0; rung < step.family.size(); ++rung) {
            if (rung) {
                const auto parent = static_cast<std::size_t>(step.family[rung]);
                const std::uint32_t values = l_.sizes[parent], *p = codes_.data() + parent * B_;
                for (std::size_t r = 0; r < n_; ++r) {
                    const bool climbs = context_[r] >= 0 && p[r] < values;
                    context_[r] = climbs ? context_[r] * values + p[r] : kNothing;
                    at_[r] = climbs ? step.begins[rung] + context_[r] * size + x[r] : at_[r];
                }
            }
            const bool last = rung + 1 == step.family.size();
            for (std::size_t k = rung; k <= (last ? l_.most : std::min(rung, l_.most)); ++k) add(k);
        }
    }

    void add(std::size_t k) {
        const std::size_t K = l_.n_classes;
        double* joint = joint_.data() + k * K * B_;
        for (std::size_t r = 0; r < n_; ++r) {
            if (at_[r] < 0) continue;
            const double* theta = l_.log_theta + static_cast<std::size_t>(at_[r]) * K;
            for (std::size_t c = 0; c < K; ++c) joint[c * B_ + r] += theta[c];
        }
    }

    // ln Σ_c joint[c] − joint[y], and what follows from it.
    void lose(std::size_t k, const double* weights, Losses& sum) {
        const std::size_t K = l_.n_classes;
        const double* joint = joint_.data() + k * K * B_;
        std::copy_n(joint, B_, top_.data());
        for (std::size_t c = 1; c < K; ++c)
            for (std::size_t r = 0; r < B_; ++r) top_[r] = joint[c * B_ + r] > top_[r] ? joint[c * B_ + r] : top_[r];
        for (std::size_t c = 0; c < K; ++c)
            for (std::size_t r = 0; r < B_; ++r) share_[c * B_ + r] = top_[r] > kNever ? joint[c * B_ + r] - top_[r] : 0.0;
        exp_all(share_.data(), K * B_);
        double product = 1.0;  // of totals between 1 and K: a logarithm is taken rarely
        for (std::size_t r = 0; r < n_; ++r) {
            const double weight = weights ? weights[r] : 1.0;
            const double own = joint[y_[r] * B_ + r];
            std::size_t guess = 0;
            double total = 0.0;
            for (std::size_t c = 0; c < K; ++c) total += share_[c * B_ + r];
            while (joint[guess * B_ + r] < top_[r]) ++guess;
            if (own == kNever) {  // its class cannot be, whatever the others are
                sum.log = std::numeric_limits<double>::infinity();
                sum.squared += weight;
                sum.errors += top_[r] == kNever || guess != y_[r] ? weight : 0.0;
                continue;
            }
            const double miss = 1.0 - share_[y_[r] * B_ + r] / total;
            sum.squared += weight * miss * miss;
            sum.errors += guess == y_[r] ? 0.0 : weight;
            sum.log += weight * (top_[r] - own);
            if (weights) {
                sum.log += weight * std::log(total);
            } else if ((product *= total) > 0x1p900) {
                sum.log += std::log(product), product = 1.0;
            }
        }
        sum.log += std::log(product);
    }

    const Ladders& l_;
    std::size_t B_, n_ = 0;
    std::vector<std::uint32_t> codes_;
    std::vector<double> joint_, share_, top_;
    std::vector<std::int64_t> at_, context_;
    std::vector<std::uint32_t> y_;
};

}  // namespace

void ladder_losses(const Ladders& ladders, Column y, const double* weights, std::size_t n, double* sums, int threads) {
    const std::size_t tasks = (n + kTask - 1) / kTask, cells = (ladders.most + 1) * (ladders.steps.size() + 1);
    const std::size_t rows = std::clamp<std::size_t>(kNumbers / ((ladders.most + 1) * ladders.n_classes), 8, 512);
    std::vector<Losses> parts(tasks * cells);
    parallel_for(tasks, threads, [&](std::size_t task) {
        Block block(ladders, rows);
        const std::size_t end = std::min(n, (task + 1) * kTask);
        for (std::size_t begin = task * kTask; begin < end; begin += rows)
            block.judge(y, weights ? weights + begin : nullptr, begin, std::min(rows, end - begin), parts.data() + task * cells);
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
        double* to = sums + i % cells * 3;
        to[0] += parts[i].log, to[1] += parts[i].squared, to[2] += parts[i].errors;
    }
}

}  // namespace posteriori
