#include "forward.hpp"

#include <cmath>
#include <limits>

#include "xoshiro.hpp"

namespace posteriori {

void draw_forward(const std::vector<ForwardNode>& nodes, std::int64_t rows, std::int64_t width, std::uint64_t seed,
                  std::int32_t* x, double* log_weight) {
    Xoshiro random(seed);
    for (std::int64_t r = 0; r < rows; ++r, x += width) {
        double weight = 1, log_sum = 0;
        for (const ForwardNode& node : nodes) {
            std::int64_t row = 0;
            for (std::size_t i = 0; i < node.parents.size(); ++i) row += node.strides[i] * x[node.parents[i]];
            const double* theta = node.table + row;
            // A soft finding tilts the draw to θ·λ, and the case is worth Σ θ·λ.
            auto tilted = [&](std::int64_t k) { return node.soft ? theta[k] * node.soft[k] : theta[k]; };
            int state = node.fixed;
            if (state >= 0) {
                weight *= tilted(state);
            } else {
                double total = 0;
                for (int k = 0; k < node.size; ++k) total += tilted(k);
                if (node.soft) weight *= total;
                state = static_cast<int>(random.pick(tilted, node.size, total));
            }
            x[node.node] = state;
            if (weight < 1e-200) {
                log_sum += std::log(weight);
                weight = 1;
            }
        }
        log_weight[r] = log_sum + std::log(weight);
    }
}

}  // namespace posteriori
