// Drawing cases from a network, parents before children.
#pragma once
#include <cstdint>
#include <vector>

namespace posteriori {

// Node order[i] has `size` states; its row in its table begins at Σ_p stride_p · x_p.
struct ForwardNode {
    int node, size, fixed;  // fixed: the state of a hard finding, or −1
    const double* table;
    const double* soft;     // likelihoods of a soft finding, or null
    std::vector<int> parents;
    std::vector<std::int64_t> strides;
};

// Draws `rows` cases of `width` nodes into x; log_weight[r] = Σ log P(finding | parents) of the findings met on the way
// (−∞ for a case that contradicts them).
void draw_forward(const std::vector<ForwardNode>& nodes, std::int64_t rows, std::int64_t width, std::uint64_t seed,
                  std::int32_t* x, double* log_weight);

}  // namespace posteriori
