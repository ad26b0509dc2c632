// Bucket elimination: a factor waits in the bucket of the first of its nodes to go.
#include <algorithm>
#include <limits>

#include "combine.hpp"
#include "loops.hpp"

namespace posteriori {
namespace {

class Buckets {
public:
    Buckets(const std::vector<int>& sizes, const std::vector<int>& order) : sizes_(sizes), turn_(sizes.size(), kNever) {
        for (std::size_t i = 0; i < order.size(); ++i) turn_[order[i]] = static_cast<int>(i);
    }

    // Which bucket a factor waits in; one that has no node of the order is left over.
    std::size_t of(const std::vector<int>& scope) const {
        int first = kNever;
        for (int v : scope) first = std::min(first, turn_[v]);
        return static_cast<std::size_t>(first);
    }

    static constexpr int kNever = std::numeric_limits<int>::max();

    double cells(const std::vector<int>& nodes) const {
        double total = 1;
        for (int v : nodes) total *= sizes_[v];
        return total;
    }

private:
    const std::vector<int>& sizes_;
    std::vector<int> turn_;
};

// The nodes of some scopes without v, ascending, and v after them.
template <typename Scopes> std::vector<int> joined(const Scopes& scopes, int v) {
    std::vector<int> nodes;
    for (const auto& scope : scopes) nodes.insert(nodes.end(), scope.begin(), scope.end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    nodes.erase(std::remove(nodes.begin(), nodes.end(), v), nodes.end());
    nodes.push_back(v);
    return nodes;
}

// The cells alive at the step that needs most, from the scopes alone; the network's own tables are there already.
void plan(const Buckets& buckets, const std::vector<int>& sizes, const std::vector<Factor>& factors, const std::vector<int>& order, Left& left) {
    std::vector<Lists> waiting(order.size());
    std::vector<double> held(order.size(), 0.0);
    for (const Factor& factor : factors) {
        const std::size_t at = buckets.of(factor.scope);
        if (at < order.size()) waiting[at].push_back(factor.scope);
    }
    double alive = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto nodes = joined(waiting[i], order[i]);
        Lists().swap(waiting[i]);
        const double cells = buckets.cells(nodes), made = cells / sizes[order[i]];
        if (alive + cells + made > left.peak) left.peak = alive + cells + made, left.widest = nodes;
        alive += made - held[i];
        nodes.pop_back();
        const std::size_t at = buckets.of(nodes);
        if (at < order.size()) waiting[at].push_back(std::move(nodes)), held[at] += made;
    }
}

// One step: the factors that have v, onto their other nodes.
Factor step(const std::vector<int>& sizes, const std::vector<Factor>& touching, int v, bool maximise, std::vector<int>& place, double& log_scale) {
    Lists scopes;
    std::vector<const double*> tables;
    std::vector<std::uint8_t> logs;
    for (const Factor& factor : touching) scopes.push_back(factor.scope), tables.push_back(factor.table), logs.push_back(factor.logs);
    Factor made;
    made.scope = joined(scopes, v);
    std::vector<int> lengths;
    Index cells = 1;
    for (std::size_t k = 0; k < made.scope.size(); ++k) {
        place[made.scope[k]] = static_cast<int>(k);
        lengths.push_back(sizes[made.scope[k]]);
        if (made.scope[k] != v) cells *= lengths.back();
    }
    for (auto& scope : scopes)
        for (int& u : scope) u = place[u];
    std::vector<std::uint8_t> keep(lengths.size(), 1);
    keep.back() = 0;
    made.own.resize(cells);
    made.scope.pop_back();
    const auto [scale, wide] = combine(lengths, scopes, tables, logs.data(), keep.data(), maximise, made.own.data());
    made.table = made.own.data();
    made.logs = wide;
    log_scale += scale;
    return made;
}

// The best state of v where the other nodes of its factors have theirs.
int best_state(const std::vector<int>& sizes, const std::vector<Factor>& touching, int v, const std::vector<int>& state) {
    const int r = sizes[v];
    std::vector<std::vector<double>> lines;
    std::vector<const double*> tables;
    std::vector<std::uint8_t> logs;
    for (const Factor& factor : touching) {
        Index at = 0, stride = 0, inner = 1;
        for (auto u = factor.scope.rbegin(); u != factor.scope.rend(); ++u) {
            if (*u == v)
                stride = inner;
            else
                at += state[*u] * inner;
            inner *= sizes[*u];
        }
        lines.emplace_back();
        for (int k = 0; k < r; ++k) lines.back().push_back(factor.table[at + k * stride]);
        logs.push_back(factor.logs);
    }
    for (const auto& line : lines) tables.push_back(line.data());
    std::vector<double> out(r);
    const std::uint8_t keep = 1;
    combine({r}, Lists(lines.size(), {0}), tables, logs.data(), &keep, true, out.data());
    return static_cast<int>(std::max_element(out.begin(), out.end()) - out.begin());
}

}  // namespace

Left sum_out(const std::vector<int>& sizes, std::vector<Factor> factors, const std::vector<int>& order, double budget, bool maximise) {
    const Buckets buckets(sizes, order);
    Left left;
    plan(buckets, sizes, factors, order, left);
    if (left.peak > budget) return left;
    std::vector<std::vector<Factor>> waiting(order.size());
    auto put = [&](Factor factor) {
        const std::size_t at = buckets.of(factor.scope);
        (at < order.size() ? waiting[at] : left.factors).push_back(std::move(factor));
    };
    for (Factor& factor : factors) put(std::move(factor));
    std::vector<int> place(sizes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
        put(step(sizes, waiting[i], order[i], maximise, place, left.log_scale));
        if (left.log_scale == -std::numeric_limits<double>::infinity()) {
            left.factors.clear();
            return left;
        }
        if (!maximise) std::vector<Factor>().swap(waiting[i]);
    }
    if (!maximise) return left;
    std::vector<int>& state = place;
    for (std::size_t i = order.size(); i-- > 0;)  // its neighbours that went after it have their states now
        state[order[i]] = best_state(sizes, waiting[i], order[i], state);
    for (int v : order) left.states.push_back(state[v]);
    return left;
}

}  // namespace posteriori
