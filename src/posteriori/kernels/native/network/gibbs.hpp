// Gibbs sampling by blocks, with leaps.
#pragma once
#include <cstdint>
#include <vector>

#include "proposal.hpp"

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
    const double* tables = nullptr;      // all factors end to end
    std::vector<CaseTable> factors;      // where their cells lie in a case
    std::vector<std::int64_t> marginal;  // where the marginal of a node lies in a row of the output
    std::int64_t width = 0;              // length of that row
    Proposal proposal;                   // of the leaps
    std::vector<std::int32_t> fixed;     // the states of the hard findings
    double log_bound = 0;                // log of the largest weight P(x, e) / q(x) that a case can have
};

struct GibbsSchedule {
    std::int64_t burn_in, thin, batches, batch_length, leap;  // a leap is tried every `leap` sweeps; 0: the pure walk
};

// A leap proposes a case x' of q, and is taken with probability min(1, w(x')/w(x)), w = P(x, e)/q(x) (Metropolis): it keeps
// P(x | e) and crosses between modes that are far apart. As no weight exceeds the bound W, each leap is with probability
// P(e)/W or more a fresh draw of P(x | e).
//
// One chain: `choice` is the joint state of each block and `place` the cell of each factor, both at the start and at the
// end. Writes `batches` rows of mean conditional probabilities P(x_block | rest), summed onto each node (of the pure walk:
// how often each state was drawn), and the states of all nodes after each kept sweep where `kept` is not null. Returns
// Σ w/W over the leaps of the kept sweeps: how many fresh draws they were worth.
double gibbs_chain(const GibbsPlan& plan, const GibbsSchedule& schedule, std::uint64_t seed, std::int64_t* choice,
                   std::int64_t* place, double* out, std::int32_t* kept);

}  // namespace posteriori
