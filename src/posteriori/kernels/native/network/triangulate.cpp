#include "triangulate.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace posteriori {
namespace {

enum class Rule { fill, weight };

// The elimination game: eliminating v joins its neighbours to each other. Scores are kept in a heap; an entry whose
// version is old is skipped when it surfaces.
class Game {
public:
    Game(const Lists& adjacency, const std::vector<int>& sizes, Rule rule)
        : near_(adjacency), rule_(rule), log_size_(sizes.size()), version_(sizes.size(), 0), stamp_(sizes.size(), 0) {
        for (std::size_t v = 0; v < sizes.size(); ++v) log_size_[v] = std::log2(std::max(sizes[v], 1));
    }

    Elimination play() {
        const int n = static_cast<int>(near_.size());
        Elimination result;
        result.order.reserve(n);
        result.later.resize(n);
        for (int v = 0; v < n; ++v) push(v);
        std::vector<char> gone(n, 0);
        while (!heap_.empty()) {
            const auto [first, second, v, version] = heap_.top();
            heap_.pop();
            if (gone[v] || version != version_[v]) continue;
            gone[v] = 1;
            result.order.push_back(v);
            result.cells += std::exp2(weight(v));
            eliminate(v);
            result.later[v] = std::move(near_[v]);
        }
        return result;
    }

private:
    using Entry = std::tuple<double, double, int, int>;

    double weight(int v) const {
        double w = log_size_[v];
        for (int u : near_[v]) w += log_size_[u];
        return w;
    }

    // Pairs of neighbours of v that are not joined yet.
    double fill(int v) {
        const auto& mine = near_[v];
        if (mine.size() < 2) return 0;
        ++now_;
        for (int u : mine) stamp_[u] = now_;
        double joined = 0;
        for (int u : mine)
            for (int w : near_[u]) joined += stamp_[w] == now_;
        const double degree = static_cast<double>(mine.size());
        return (degree * (degree - 1) - joined) / 2;
    }

    void push(int v) {
        const double missing = fill(v), w = weight(v);
        ++version_[v];
        if (rule_ == Rule::fill)
            heap_.emplace(missing, w, v, version_[v]);
        else
            heap_.emplace(missing > 0 ? w : -1.0, w, v, version_[v]);
    }

    void eliminate(int v) {
        std::vector<int> touched = near_[v];
        for (int u : near_[v]) near_[u].erase(std::find(near_[u].begin(), near_[u].end(), v));
        for (std::size_t i = 0; i < near_[v].size(); ++i) {
            const int a = near_[v][i];
            ++now_;
            for (int w : near_[a]) stamp_[w] = now_;
            for (std::size_t j = i + 1; j < near_[v].size(); ++j) {
                const int b = near_[v][j];
                if (stamp_[b] == now_) continue;
                for (int w : near_[b])  // a and b meet: whoever sees both lacks one pair less
                    if (stamp_[w] == now_) touched.push_back(w);
                near_[a].push_back(b);
                near_[b].push_back(a);
                stamp_[b] = now_;
            }
        }
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        for (int u : touched) push(u);
    }

    Lists near_;
    Rule rule_;
    std::vector<double> log_size_;
    std::vector<int> version_;
    std::vector<std::int64_t> stamp_;
    std::int64_t now_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap_;
};

}  // namespace

Elimination best_elimination(const Lists& adjacency, const std::vector<int>& sizes) {
    Elimination fill = Game(adjacency, sizes, Rule::fill).play();
    Elimination weight = Game(adjacency, sizes, Rule::weight).play();
    return weight.cells < fill.cells ? weight : fill;
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
