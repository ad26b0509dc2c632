// What a cut of a node is worth, renewed as rows move from its right side to its left.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace posteriori {

constexpr int SMALL = 4096;  // counts whose N ln N is looked up
constexpr std::size_t FEW = 6;  // classes that are parted in all ways

struct Table {
    double of[SMALL];
    Table() {
        of[0] = 0;
        for (int i = 1; i < SMALL; ++i) of[i] = i * std::log(static_cast<double>(i));
    }
};

// The weights by class on both sides of a cut, and what the cut is worth.
class Sides {
    const bool gini, whole;
    const double* const logs;
    std::vector<double> left, right;
    std::vector<double> g_left, g_right, g_node;  // g(n_c)
    std::vector<int> there;                       // classes of the node
    double of_left = 0, of_right = 0, of_node = 0;  // Σ g(n_c)
    bool listed = false;                          // whether `logs` has whatever the node can ask for

  public:
    double n_left = 0, n_right = 0;

    Sides(int K, bool gini, bool whole, const double* logs)
        : gini(gini), whole(whole), logs(logs), left(K), right(K), g_left(K), g_right(K), g_node(K) {}

    double g(double x) const {
        if (listed) return logs[static_cast<int>(x)];
        if (gini) return x * x;
        if (whole && x < SMALL) return logs[static_cast<int>(x)];
        return x > 0 ? x * std::log(x) : 0.0;
    }

    // All on the right, of a node that has these classes.
    void start(const double* counts, double n) {
        for (const int c : there) left[c] = g_left[c] = 0, right[c] = counts[c], g_right[c] = g_node[c];
        of_left = n_left = 0, of_right = of_node, n_right = n;
    }

    // Σ g(n_c) of a node of weight n.
    double enter(const double* counts, double n) {
        there.clear(), of_node = 0, listed = whole && !gini && n < SMALL;
        for (std::size_t c = 0; c < left.size(); ++c)
            if (counts[c] > 0) there.push_back(static_cast<int>(c)), of_node += g_node[c] = g(counts[c]);
        return of_node;
    }

    const std::vector<int>& present() const { return there; }

    // To the left; a weight below zero goes back.
    void move(std::uint32_t c, double w) {
        double l = left[c] + w, r = right[c] - w;
        if (w > 0 && r < 1e-9 * l) r = 0;  // what rounding left of a class that has gone over
        if (w < 0 && l < 1e-9 * r) l = 0;
        const double gl = g(l), gr = g(r);
        of_left += gl - g_left[c], of_right += gr - g_right[c], n_left += w, n_right -= w;
        left[c] = l, right[c] = r, g_left[c] = gl, g_right[c] = gr;
    }

    // Without the part that is the same for every split of a node.
    double worth() const {
        if (gini) return of_left / n_left + of_right / n_right;
        return of_left - g(n_left) + of_right - g(n_right);
    }

    // What no split of the node is worth more than: the best in which every class is on one side, since gains are convex in the
    // shares of the classes that go left.
    double most(const double* counts) const {
        if (there.size() > FEW) return std::numeric_limits<double>::infinity();
        double found = -std::numeric_limits<double>::infinity();
        for (std::uint32_t set = 1; set < std::uint32_t{1} << (there.size() - 1); ++set) {
            double n_of[2] = {0, 0}, g_of[2] = {0, 0};  // right and left
            for (std::size_t k = 0; k < there.size(); ++k) n_of[set >> k & 1] += counts[there[k]], g_of[set >> k & 1] += g_node[there[k]];
            found = std::max(found, gini ? g_of[0] / n_of[0] + g_of[1] / n_of[1] : of_node - g(n_of[0]) - g(n_of[1]));
        }
        return found;
    }

    double information(double n) const {  // of the split itself
        return n * std::log(n) - n_left * std::log(n_left) - n_right * std::log(n_right);
    }
};

}  // namespace posteriori
