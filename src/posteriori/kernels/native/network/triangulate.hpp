// Elimination orders and the clique trees they give.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

namespace posteriori {

using Lists = std::vector<std::vector<int>>;

// One elimination: the order, and for each node the neighbours it still had when it was eliminated.
struct Elimination {
    std::vector<int> order;
    Lists later;
    double cells = 0;  // Σ over eliminated nodes of the cells of {v} ∪ later(v): the work that the order costs
    double most = 0;   // the cells of the largest of them,
    std::vector<int> largest;  // and its nodes
};

// The maximal cliques of an elimination and a tree over them with running intersection; parent −1 is the root of a part.
struct CliqueTree {
    Lists members;
    std::vector<int> parent;
    std::vector<int> home;  // for each node the clique that was made when it was eliminated: it holds {v} ∪ later(v)
};

// The best of several greedy orders: least fill-in and least weight (nodes that add no edge always go first) and, where
// these leave large tables, orders by breadth, weighted fill-in and other ties. Orders of more than `budget` cells are not looked for: where
// there is none below, `order` is empty, and the cells are those of an order by least weight.
Elimination best_elimination(const Lists& adjacency, const std::vector<int>& sizes,
                             double budget = std::numeric_limits<double>::infinity());
CliqueTree clique_tree(const Elimination& elimination);

}  // namespace posteriori
