// Drawing whole cases, a node at a time: q(x) = Π_v q(x_v | nodes drawn before it).
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "xoshiro.hpp"

namespace posteriori {

// A table over some nodes: its cell in a case lies at Σ stride · x.
struct CaseTable {
    const double* table = nullptr;
    std::vector<int> nodes;
    std::vector<std::int64_t> strides;
    std::int64_t own = 0;  // the stride of the node that is being drawn, which `nodes` leaves out

    std::int64_t place(const std::int32_t* x) const {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) at += strides[i] * x[nodes[i]];
        return at;
    }
};

// A product of very many probabilities.
class LogProduct {
public:
    void times(double x) {
        product_ *= x;
        if (product_ < 1e-200 || product_ > 1e200) {
            log_ += std::log(product_);
            product_ = 1;
        }
    }
    double value() const { return log_ + std::log(product_); }

private:
    double product_ = 1, log_ = 0;
};

// q(x_v | before) ∝ Π of its tables.
struct ProposalNode {
    int node, size;
    std::vector<CaseTable> tables;
};

struct Proposal {
    std::vector<ProposalNode> nodes;  // in the order they are drawn
    std::size_t counted = 0;          // the first so many make q; the others are drawn from their own tables, as P has them

    double draw(Xoshiro& random, std::int32_t* x) const;  // fills the nodes of x that are drawn; log q(x)
    double log_density(const std::int32_t* x) const;      // log q(x)
};

// Cases and their log weights Σ log terms − log q, into `rows` rows of `width` nodes that hold what is not drawn.
void draw_cases(const Proposal& proposal, const std::vector<CaseTable>& terms, std::int64_t rows, std::int64_t width,
                std::uint64_t seed, std::int32_t* x, double* log_weight);

}  // namespace posteriori
