// Gibbs sampling by blocks, with leaps.
#pragma once
#include <cstdint>
#include <vector>

#include "forward.hpp"

namespace posteriori {

// A network prepared for Gibbs sampling. A block has `states` joint states and touches `factors`; in joint state j its
// nodes add offset[j·|factors| + i] to the place in the table of factor i, and are in the states value[j·|nodes| + k].
struct GibbsBlock {
    std::vector<int> nodes, factors;
    std::int64_t states = 0;
    const std::int64_t* offset = nullptr;
    const std::int32_t* value = nullptr;
};

struct GibbsPlan {
    std::vector<GibbsBlock> blocks;
    const double* tables = nullptr;        // all factors end to end
    std::vector<std::int64_t> marginal;    // where the marginal of a node lies in a row of the output
    std::int64_t width = 0;                // length of that row
    std::vector<ForwardNode> forward;      // parents before children; `soft` is not used here
    std::vector<int> soft;                 // the nodes of the soft findings, whose factors follow those of the nodes
    std::vector<std::int64_t> soft_begin;  // where their likelihoods begin in `tables`
};

struct GibbsSchedule {
    std::int64_t burn_in, thin, batches, batch_length, leap;  // a leap is tried every `leap` sweeps
};

// A leap proposes a case drawn forward with the findings held, and is taken with probability min(1, w(new)/w(old)), w the
// likelihood of the findings given the rest (Metropolis): it keeps P(x | e) and crosses between modes that are far apart.
//
// One chain: `choice` is the joint state of each block and `place` the cell of each factor, both at the start and at the
// end. Writes `batches` rows of mean conditional probabilities P(x_block | rest), summed onto each node.
void gibbs_chain(const GibbsPlan& plan, const GibbsSchedule& schedule, std::uint64_t seed, std::int64_t* choice,
                 std::int64_t* place, double* out);

}  // namespace posteriori
