#include "triangulate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

#include "xoshiro.hpp"

namespace posteriori {
namespace {

enum class Rule { fill, weight, weighted_fill, rank };

constexpr double kMostBits = 62;          // no machine holds a table of more cells: 2^62
constexpr std::size_t kHub = 256;         // neighbours of a node that is not scanned for a neighbour's sake
constexpr double kMiddle = 1 << 12;       // cells of one table from which on orders by breadth are tried,
constexpr double kLarge = 1 << 22;        // and of all, other ties: fewer cost less than the tries
constexpr std::size_t kMostNodes = 4000;  // of a graph that is tried again
constexpr int kTries = 24;

// The elimination game: eliminating v joins its neighbours to each other. Scores are kept in a heap; an entry whose
// version is old is skipped when it surfaces. A node whose clique would be over the bound waits outside the heap until
// its neighbours have gone: a hub of many leaves costs nothing, and what waits at the end cannot be held at all.
class Game {
public:
    Game(const Lists& adjacency, const std::vector<int>& sizes, Rule rule, double bits, const std::vector<int>& rank)
        : near_(adjacency), rule_(rule), bits_(bits), rank_(rank), log_size_(sizes.size()), weight_(sizes.size()),
          missing_(sizes.size(), 0), version_(sizes.size(), 0), stamp_(sizes.size(), 0), gone_(sizes.size(), 0),
          mine_(sizes.size(), 0), known_(sizes.size(), 0), around_(sizes.size(), 0) {
        for (std::size_t v = 0; v < sizes.size(); ++v)  // to 20 binary digits: sums are exact, and ties are ties
            log_size_[v] = std::round(std::log2(std::max(sizes[v], 1)) * 0x1p20) * 0x1p-20;
        for (std::size_t v = 0; v < sizes.size(); ++v) {
            weight_[v] = log_size_[v];
            for (int u : near_[v]) weight_[v] += log_size_[u], around_[v] += worth(u);
        }
    }

    // False when the cells exceed the budget; then, where figures are wanted, what waits is counted to its end.
    bool play(double budget, bool figures, Elimination& result) {
        const int n = static_cast<int>(near_.size());
        result.order.reserve(n);
        result.later.resize(n);
        for (int v = 0; v < n; ++v) push(v);
        while (!heap_.empty()) {
            const auto [first, second, rank, v, version] = heap_.top();
            heap_.pop();
            if (gone_[v] || version != version_[v]) continue;
            gone_[v] = 1;
            alive(v);
            take(result, v, near_[v]);
            eliminate(v);
            result.later[v] = std::move(near_[v]);
            if (result.cells > budget) break;
        }
        return (figures || result.cells <= budget) && finish(budget, result);
    }

private:
    using Entry = std::tuple<double, double, int, int, int>;

    void take(Elimination& result, int v, const std::vector<int>& later) {
        const double cells = std::exp2(std::min(weight_[v], 1000.0));
        result.order.push_back(v);
        result.cells += cells;
        if (cells > result.most) {
            result.most = cells;
            result.largest = later;
            result.largest.push_back(v);
        }
    }

    // The neighbours that are left.
    std::vector<int>& alive(int v) {
        auto& mine = near_[v];
        mine.erase(std::remove_if(mine.begin(), mine.end(), [&](int u) { return gone_[u]; }), mine.end());
        return mine;
    }

    bool joined(int a, int b) const {
        const auto& shorter = near_[a].size() < near_[b].size() ? near_[a] : near_[b];
        return std::find(shorter.begin(), shorter.end(), near_[a].size() < near_[b].size() ? b : a) != shorter.end();
    }

    // Pairs of neighbours of v that are not joined yet, each worth 1 or the product of their logarithms.
    double fill(int v) {
        const auto& mine = alive(v);
        if (mine.size() < 2) return 0;
        ++now_;
        double all = 0, squares = 0, met = 0;
        for (int u : mine) {
            stamp_[u] = now_;
            all += worth(u);
            squares += worth(u) * worth(u);
        }
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const int u = mine[i];
            if (near_[u].size() > kHub) {
                for (std::size_t j = 0; j < i; ++j)
                    if (near_[mine[j]].size() > kHub && joined(u, mine[j])) met += 2 * worth(u) * worth(mine[j]);
                continue;
            }
            for (int w : near_[u])
                if (stamp_[w] == now_) met += worth(u) * worth(w) * (near_[w].size() > kHub ? 2 : 1);
        }
        return std::max((all * all - squares - met) / 2, 0.0);
    }

    double worth(int v) const { return rule_ == Rule::weighted_fill ? log_size_[v] : 1.0; }

    void push(int v) {
        ++version_[v];
        if (weight_[v] > bits_) return;
        if (!known_[v]) missing_[v] = fill(v), known_[v] = 1;
        const bool none = missing_[v] < 1e-9;
        const double first = rule_ == Rule::rank ? rank_[v] : none ? (rule_ == Rule::weight ? -1.0 : 0.0) : (rule_ == Rule::weight ? weight_[v] : missing_[v]);
        heap_.emplace(first, weight_[v], rank_[v], v, version_[v]);
    }

    // The neighbours of u that are about to be joined to each other.
    double among(int u, const std::vector<int>& mine) const {
        double sum = 0;
        if (near_[u].size() > kHub) {
            for (int w : mine)
                if (w != u && joined(u, w)) sum += worth(w);
        } else {
            for (int w : near_[u]) sum += mine_[w] ? worth(w) : 0.0;
        }
        return sum;
    }

    // v goes and its neighbours meet. What each node lacks is kept up to date: u loses the pairs that it had with v; where
    // a meets b, whoever sees both lacks one pair less, and each of the two has one with every neighbour the other lacks.
    void eliminate(int v) {
        const std::vector<int>& mine = near_[v];
        std::vector<int> others;
        for (int u : mine) mine_[u] = 1;
        for (int u : mine) {
            weight_[u] -= log_size_[v];
            around_[u] -= worth(v);
            if (near_[u].size() <= kHub) alive(u);
            if (known_[u]) missing_[u] -= worth(v) * (around_[u] - among(u, mine));
        }
        for (std::size_t i = 0; missing_[v] >= 1e-9 && i < mine.size(); ++i) {
            const int a = mine[i];
            ++now_;
            for (int w : near_[a]) stamp_[w] = now_;
            for (std::size_t j = i + 1; j < mine.size(); ++j) {
                const int b = mine[j];
                if (stamp_[b] == now_) continue;
                double both = 0;
                for (int w : near_[b])
                    if (stamp_[w] == now_ && !gone_[w]) {
                        both += worth(w);
                        missing_[w] -= worth(a) * worth(b);
                        if (!mine_[w]) others.push_back(w);
                    }
                meet(a, b, both);
                meet(b, a, both);
                stamp_[b] = now_;
            }
        }
        for (int u : mine) mine_[u] = 0;
        for (int u : mine) push(u);
        std::sort(others.begin(), others.end());
        others.erase(std::unique(others.begin(), others.end()), others.end());
        for (int u : others) push(u);
    }

    void meet(int a, int b, double both) {
        missing_[a] += worth(b) * (around_[a] - both);
        around_[a] += worth(b);
        weight_[a] += log_size_[b];
        near_[a].push_back(b);
    }

    // Those that waited, by least weight, on a matrix of bits: a dense rest has many edges and few nodes.
    bool finish(double budget, Elimination& result) {
        std::vector<int> rest;
        for (std::size_t v = 0; v < near_.size(); ++v)
            if (!gone_[v]) rest.push_back(static_cast<int>(v));
        const std::size_t m = rest.size(), words = (m + 63) / 64;
        if (rest.empty()) return true;
        std::vector<int> place(near_.size(), -1);
        for (std::size_t i = 0; i < m; ++i) place[rest[i]] = static_cast<int>(i);
        if (m > 20000) {
            result.cells += std::exp2(std::min(1000.0, weight_[*std::min_element(
                rest.begin(), rest.end(), [&](int a, int b) { return weight_[a] < weight_[b]; })]));
            return false;
        }
        std::vector<std::uint64_t> row(m * words, 0);
        for (std::size_t i = 0; i < m; ++i)
            for (int u : alive(rest[i])) row[i * words + place[u] / 64] |= std::uint64_t{1} << (place[u] % 64);
        auto each = [&](const std::uint64_t* from, auto&& visit) {
            for (std::size_t k = 0; k < words; ++k)
                for (std::uint64_t bits = from[k]; bits; bits &= bits - 1) visit(64 * k + static_cast<std::size_t>(__builtin_ctzll(bits)));
        };
        std::vector<char> done(m, 0);
        for (std::size_t step = 0; step < m; ++step) {
            std::size_t best = m;
            for (std::size_t i = 0; i < m; ++i)
                if (!done[i] && (best == m || weight_[rest[i]] < weight_[rest[best]])) best = i;
            const int v = rest[best];
            const std::uint64_t* mine = &row[best * words];
            std::vector<int> later;
            each(mine, [&](std::size_t i) { later.push_back(rest[i]); });
            take(result, v, later);
            done[best] = 1;
            for (int u : later) {
                std::uint64_t* theirs = &row[place[u] * words];
                weight_[u] -= log_size_[v];
                for (std::size_t k = 0; k < words; ++k) {
                    std::uint64_t fresh = mine[k] & ~theirs[k];
                    theirs[k] |= mine[k];
                    for (; fresh; fresh &= fresh - 1) weight_[u] += log_size_[rest[64 * k + static_cast<std::size_t>(__builtin_ctzll(fresh))]];
                }
                weight_[u] -= log_size_[u];  // among the fresh was u itself
                theirs[best / 64] &= ~(std::uint64_t{1} << (best % 64));
                theirs[place[u] / 64] &= ~(std::uint64_t{1} << (place[u] % 64));
            }
            if (result.cells <= budget) result.later[v] = std::move(later);
        }
        return result.cells <= budget;
    }

    Lists near_;
    Rule rule_;
    double bits_;
    const std::vector<int>& rank_;
    std::vector<double> log_size_, weight_, missing_;
    std::vector<int> version_;
    std::vector<std::int64_t> stamp_;
    std::vector<char> gone_, mine_, known_;  // the neighbours of the node that goes; whether what a node lacks is known
    std::vector<double> around_;             // what the neighbours of a node are worth together
    std::int64_t now_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap_;
};

// Breadth first, part by part, each from an end of it, the neighbours of a node by their number of neighbours (Cuthill and
// McKee): between what has gone and the rest stands a level or so, as of a lattice, whose width no greedy rule sees.
std::vector<int> by_breadth(const Lists& near, int sweeps) {
    auto fewer = [&](int a, int b) { return std::make_pair(near[a].size(), a) < std::make_pair(near[b].size(), b); };
    std::vector<int> order;
    std::vector<char> seen(near.size(), 0);
    for (std::size_t v = 0; v < near.size(); ++v) {
        if (seen[v]) continue;
        const auto first = static_cast<std::ptrdiff_t>(order.size());
        int from = static_cast<int>(v);
        for (int sweep = 0; sweep < sweeps; ++sweep) {  // from the far end of the sweep before
            for (auto u = order.begin() + first; u != order.end(); ++u) seen[*u] = 0;
            order.resize(static_cast<std::size_t>(first));
            order.push_back(from);
            seen[from] = 1;
            auto level = order.size(), end = order.size();
            for (auto i = static_cast<std::size_t>(first); i < order.size(); ++i) {
                if (i == end) level = i, end = order.size();
                const auto fresh = static_cast<std::ptrdiff_t>(order.size());
                for (int u : near[order[i]])
                    if (!seen[u]) seen[u] = 1, order.push_back(u);
                std::sort(order.begin() + fresh, order.end(), fewer);
            }
            from = *std::min_element(order.begin() + static_cast<std::ptrdiff_t>(std::min(level, order.size() - 1)), order.end(), fewer);
        }
    }
    return order;
}

}  // namespace

Elimination best_elimination(const Lists& adjacency, const std::vector<int>& sizes, double budget) {
    const double bits = std::min(kMostBits, std::log2(std::max(budget, 2.0)));
    std::vector<int> rank(sizes.size());
    std::iota(rank.begin(), rank.end(), 0);
    Elimination best;
    bool whole = false;
    auto play = [&](Rule rule) {
        Elimination found;
        const bool done = Game(adjacency, sizes, rule, bits, rank).play(whole ? std::min(best.cells, budget) : budget, !whole, found);
        if (!done) found.order.clear();
        if ((done && !whole) || (done == whole && found.cells < best.cells) || best.cells == 0) best = std::move(found);
        whole |= done;
    };
    play(Rule::fill);
    play(Rule::weight);
    if (best.most < kMiddle || sizes.size() > kMostNodes) return best;
    for (int sweeps : {3, 4})
        for (bool back : {false, true}) {
            auto order = by_breadth(adjacency, sweeps);
            if (back) std::reverse(order.begin(), order.end());
            for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int>(i);
            play(Rule::rank);
        }
    std::iota(rank.begin(), rank.end(), 0);
    if (best.cells < kLarge || best.cells > std::min(budget, std::exp2(kMostBits)) * 4096) return best;
    play(Rule::weighted_fill);
    Xoshiro random(1);
    for (int i = 0; i < kTries; ++i) {  // ties are many, and fall one way or another
        for (std::size_t k = rank.size(); k > 1; --k) std::swap(rank[k - 1], rank[random.next() % k]);
        play(i % 3 == 0 ? Rule::fill : i % 3 == 1 ? Rule::weight : Rule::weighted_fill);
    }
    return best;
}

CliqueTree clique_tree(const Elimination& elimination) {
    const auto& order = elimination.order;
    const int n = static_cast<int>(order.size());
    std::vector<int> place(n);
    for (int i = 0; i < n; ++i) place[order[i]] = i;
    CliqueTree tree;
    tree.home.assign(n, -1);
    // From the last eliminated to the first: {v} ∪ later(v) hangs on the clique of the first of later(v) to go, and
    // swallows that clique where later(v) is all of it.
    for (int i = n - 1; i >= 0; --i) {
        const int v = order[i];
        const auto& later = elimination.later[v];
        int up = -1;
        if (!later.empty()) {
            const int next = *std::min_element(later.begin(), later.end(), [&](int a, int b) { return place[a] < place[b]; });
            up = tree.home[next];
            if (tree.members[up].size() == later.size()) {
                tree.members[up].push_back(v);
                tree.home[v] = up;
                continue;
            }
        }
        tree.home[v] = static_cast<int>(tree.members.size());
        tree.members.push_back(later);
        tree.members.back().push_back(v);
        tree.parent.push_back(up);
    }
    return tree;
}

}  // namespace posteriori
