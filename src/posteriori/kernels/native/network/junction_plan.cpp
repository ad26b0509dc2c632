#include <algorithm>
#include <cmath>
#include <numeric>

#include "junction.hpp"

namespace posteriori {
namespace {

// Parents married, directions dropped.
Lists moral_graph(const Lists& parents) {
    Lists near(parents.size());
    for (std::size_t v = 0; v < parents.size(); ++v) {
        std::vector<int> family = parents[v];
        family.push_back(static_cast<int>(v));
        for (int a : family)
            for (int b : family)
                if (a != b) near[a].push_back(b);
    }
    for (auto& list : near) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return near;
}

double cells_of(const std::vector<int>& nodes, const std::vector<int>& sizes) {
    double total = 1;
    for (int v : nodes) total *= sizes[v];
    return total;
}

// The log of the least positive cell, 0 where that is above 1.
double least_log(const double* x, Index n) {
    double least = 1;
    for (Index i = 0; i < n; ++i)
        if (x[i] > 0 && x[i] < least) least = x[i];
    return std::log(least);
}

// The tree again, hung by its largest clique in each part: that clique then neither sends up nor receives down.
std::vector<int> rehang(const CliqueTree& tree, const std::vector<double>& cells, std::vector<int>& order) {
    const int n = static_cast<int>(tree.members.size());
    Lists near(n);
    for (int c = 0; c < n; ++c)
        if (tree.parent[c] >= 0) {
            near[c].push_back(tree.parent[c]);
            near[tree.parent[c]].push_back(c);
        }
    std::vector<int> by_size(n), parent(n, -2);
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(), [&](int a, int b) { return cells[a] > cells[b]; });
    for (int root : by_size) {
        if (parent[root] != -2) continue;
        parent[root] = -1;
        order.push_back(root);
        for (std::size_t i = order.size() - 1; i < order.size(); ++i)
            for (int next : near[order[i]])
                if (parent[next] == -2) {
                    parent[next] = order[i];
                    order.push_back(next);
                }
    }
    return parent;
}

}  // namespace

Plan::Plan(std::vector<int> sizes_given, Lists parents_given, double budget)
    : sizes(std::move(sizes_given)), parents(std::move(parents_given)), children(sizes.size()) {
    const int n = static_cast<int>(sizes.size());
    for (int v = 0; v < n; ++v)
        for (int p : parents[v]) children[p].push_back(v);
    const Elimination elimination = best_elimination(moral_graph(parents), sizes, budget / 8);
    if (n > 0 && elimination.order.empty()) {
        bytes_ = 8 * elimination.cells;
        largest_cells_ = elimination.most;
        largest_ = elimination.largest;
        return;
    }
    const CliqueTree tree = clique_tree(elimination);
    double total = 0;
    for (const auto& members : tree.members) {
        const double cells = cells_of(members, sizes);
        total += cells;
        if (cells > largest_cells_) largest_cells_ = cells, largest_ = members;
    }
    bytes_ = 8 * total;
    if (bytes_ > kMostBytes) return;
    const std::vector<int> row = lay_out(tree);
    std::vector<int> place(n);
    for (int i = 0; i < n; ++i) place[elimination.order[i]] = i;
    // The clique made when the first of a family was eliminated holds the whole family.
    for (int v = 0; v < n; ++v) {
        int first = v;
        for (int p : parents[v])
            if (place[p] < place[first]) first = p;
        cliques[row[tree.home[first]]].tables.push_back(v);
    }
    bytes_ = needed();
    containing.resize(n);
    for (std::size_t c = 0; c < cliques.size(); ++c)
        for (int v : cliques[c].nodes) containing[v].push_back(static_cast<int>(c));
    home.assign(n, 0);
    offsets.assign(n + 1, 0);
    for (int v = 0; v < n; ++v) {
        offsets[v + 1] = offsets[v] + sizes[v];
        const auto& held = containing[v];
        home[v] = *std::min_element(held.begin(), held.end(), [&](int a, int b) { return cliques[a].cells < cliques[b].cells; });
        int thinnest = -1;
        for (int c : held) {
            const auto& nodes = cliques[c].nodes;
            const bool in_separator = std::find(nodes.begin() + cliques[c].fresh, nodes.end(), v) != nodes.end();
            if (in_separator && (thinnest < 0 || cliques[c].message_cells < cliques[thinnest].message_cells)) thinnest = c;
        }
        (thinnest >= 0 ? cliques[thinnest].read_message : cliques[home[v]].read_here).push_back(v);
    }
}

// Bytes of the potentials, and of the beliefs, messages and scratch of one state.
double Plan::needed() const {
    double cells = static_cast<double>(belief_cells) + 2.0 * static_cast<double>(message_cells) + static_cast<double>(scratch_cells);
    for (const Clique& clique : cliques) {
        std::vector<int> scope = clique.tables;
        for (int t : clique.tables) scope.insert(scope.end(), parents[t].begin(), parents[t].end());
        std::sort(scope.begin(), scope.end());
        scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
        if (!scope.empty()) cells += cells_of(scope, sizes);
    }
    return 8 * cells;
}

// Axis orders from the root down: a separator keeps the order it has in the parent, and comes last in the child.
// Returns where each clique of the tree went.
std::vector<int> Plan::lay_out(const CliqueTree& tree) {
    std::vector<double> cells;
    for (const auto& members : tree.members) cells.push_back(cells_of(members, sizes));
    std::vector<int> order;
    const std::vector<int> parent = rehang(tree, cells, order);
    const int n = static_cast<int>(order.size());
    std::vector<int> row(n);
    for (int i = 0; i < n; ++i) row[order[i]] = i;
    cliques.resize(n);
    Lists members(n);
    for (int i = 0; i < n; ++i) {
        members[i] = tree.members[order[i]];
        if (parent[order[i]] >= 0) {
            cliques[i].parent = row[parent[order[i]]];
            auto& siblings = cliques[cliques[i].parent].children;
            cliques[i].slot = static_cast<int>(siblings.size());
            siblings.push_back(i);
        }
    }
    std::vector<int> axis(sizes.size(), -1), uses(sizes.size(), 0);
    for (int i = 0; i < n; ++i) {
        Clique& clique = cliques[i];
        std::vector<int> separator;
        if (clique.parent >= 0) {
            const auto& above = cliques[clique.parent].nodes;
            std::vector<int> mine = members[i];
            std::sort(mine.begin(), mine.end());
            for (int v : above)
                if (std::binary_search(mine.begin(), mine.end(), v)) separator.push_back(v), axis[v] = i;
        }
        for (int c : clique.children)
            for (int v : members[c]) ++uses[v];
        for (int v : members[i])
            if (axis[v] != i) clique.nodes.push_back(v);
        clique.fresh = static_cast<int>(clique.nodes.size());
        // Axes that many children share lie together at the end, where loops are longest.
        std::sort(clique.nodes.begin(), clique.nodes.end(),
                  [&](int a, int b) { return uses[a] != uses[b] ? uses[a] < uses[b] : a < b; });
        clique.nodes.insert(clique.nodes.end(), separator.begin(), separator.end());
        for (int c : clique.children)
            for (int v : members[c]) --uses[v];
        clique.cells = static_cast<Index>(cells[order[i]]);
        for (int v : separator) clique.message_cells *= sizes[v];
        clique.place = belief_cells;
        clique.message_place = message_cells;
        belief_cells += clique.cells;
        message_cells += clique.message_cells;
        if (clique.parent >= 0) scratch_cells = std::max(scratch_cells, clique.cells);  // a root's posterior is its belief
    }
    for (Clique& clique : cliques)
        for (int c : clique.children) {
            const auto& nodes = cliques[c].nodes;
            std::vector<char> in(clique.nodes.size());
            for (std::size_t k = 0; k < in.size(); ++k)
                in[k] = std::find(nodes.begin() + cliques[c].fresh, nodes.end(), clique.nodes[k]) != nodes.end();
            clique.shared.push_back(std::move(in));
        }
    return row;
}

void Plan::fill(const double* tables, const Index* table_offsets) {
    std::vector<Index> stride(sizes.size(), 0);
    std::vector<char> used(sizes.size(), 0);
    std::vector<double> logs;
    for (Clique& clique : cliques) {
        if (clique.tables.empty()) continue;
        double bound = 0;
        for (int t : clique.tables) {
            used[t] = 1;
            for (int p : parents[t]) used[p] = 1;
            bound += least_log(tables + table_offsets[t], static_cast<Index>(cells_of(parents[t], sizes)) * sizes[t]);
        }
        clique.in_logs = bound < kLeastLog;
        const int dims = static_cast<int>(clique.nodes.size());
        clique.stride.assign(dims, 0);
        Index cells = 1;
        for (int k = dims - 1; k >= 0; --k)
            if (used[clique.nodes[k]]) {
                clique.stride[k] = cells;
                cells *= sizes[clique.nodes[k]];
            }
        clique.potential.assign(cells, clique.in_logs ? 0.0 : 1.0);
        for (int t : clique.tables) {
            Index step = 1;
            stride[t] = step;
            step *= sizes[t];
            for (auto p = parents[t].rbegin(); p != parents[t].rend(); ++p) stride[*p] = step, step *= sizes[*p];
            Nest nest;
            for (int k = dims - 1; k >= 0; --k)
                if (used[clique.nodes[k]]) nest.add(sizes[clique.nodes[k]], stride[clique.nodes[k]]);
            if (clique.in_logs) {
                logs.assign(tables + table_offsets[t], tables + table_offsets[t] + step);
                for (double& x : logs) x = std::log(x);
                sweep<Plus>(nest, clique.potential.data(), logs.data());
            } else {
                sweep<Multiply>(nest, clique.potential.data(), tables + table_offsets[t]);
            }
            stride[t] = 0;
            for (int p : parents[t]) stride[p] = 0;
        }
        for (int v : clique.nodes) used[v] = 0;
        clique.least_log = bound;
        if (!clique.in_logs) clique.least_log = least_log(clique.potential.data(), cells);
    }
    filled_ = true;
}

}  // namespace posteriori
