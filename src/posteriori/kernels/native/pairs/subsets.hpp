// The best network of all: scores of every set of columns, the parents worth having, and the best order of the nodes.
//
// A score that is a function of counts splits as s(v | P) = A(P ∪ v) − B_v(P), each a sum over the cells of one set of
// columns; so 2^d sets are counted, and not d·2^(d−1) families. Then best(W) = max_{v ∈ W} best(W ∖ v) + max_{P ⊆ W ∖ v} s(v | P).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "watch.hpp"

namespace posteriori {

using Set = std::uint32_t;  // of columns, a bit each

struct Exact {
    const std::uint16_t* codes;  // [column][row], all below the column's size
    const std::uint32_t* weights;  // how often each row occurs
    std::size_t n;
    std::vector<std::uint32_t> sizes;
    std::vector<const double*> cells;  // what a cell of N rows adds: to A the first, to B_v the one that `below[v]` numbers
    std::size_t rows;                  // the sum of the weights: N = 0 .. rows
    std::vector<int> below;
    double ess;    // above 0: BDeu, with ln Γ(ess/|S| + N)/Γ(ess/|S|) instead of the tables, |S| configurations of the set
    double price;  // of a parameter q (r − 1)
    int most;      // parents of a node
    double equal;  // scores that differ less are equal: then fewer parents are taken
    std::vector<Set> required, forbidden;  // parents of each node
};

// The parents of every node in a network of greatest score; returns the score, −∞ where no network is allowed.
double best_network(const Exact& task, std::vector<Set>& parents, int threads, Poll poll);

}  // namespace posteriori
