// Where no single step gains, several together may: a node is moved in a topological order, and every family that this
// concerns is made anew by toggles of its own among the nodes before it (Teyssier and Koller's search over orders, from the
// network at hand). Where the best place of a node loses, a node it has passed is moved in turn, and both are taken if
// together they gain. Among many nodes only parents that tell something of a node by themselves are tried.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pairs/climb.hpp"

namespace posteriori {
namespace {

std::size_t at(int v) { return static_cast<std::size_t>(v); }

struct Choice {
    Nodes parents;
    Family* family;  // with its score
};

// A node's new place, and the families that change.
struct Plan {
    double gain = -std::numeric_limits<double>::infinity();
    std::size_t place = 0, passed = 0;  // families of nodes that it has passed
    Choice own{};
    std::vector<std::pair<int, Choice>> families{};
};

}  // namespace

class Reorder {
    Climber& climber;
    const ClimbTask& task;
    Nodes order;
    std::vector<Choice> now;
    std::vector<Nodes> related;      // the parents that are tried
    std::vector<char> is_related;    // [v * d + u]: whether u is one of them
    std::vector<char> before;        // the nodes that may be parents
    Nodes unknown;                   // of `improved`

    bool required(int u, int v) const { return climber.required(u, v); }

    // Those that may be toggled: f(u) of each, a parent once or twice.
    template <typename F> void each_toggle(int v, const Nodes& parents, F&& f) const {
        for (const int u : parents)
            if (!required(u, v)) f(u);
        if (parents.size() < at(task.most))
            for (const int u : related[at(v)])
                if (before[at(u)] && !required(u, v)) f(u);
    }

    // From these parents to better ones among `before`, a toggle at a time, the first of the best.
    Choice improved(int v, Nodes parents) {
        for (;;) {
            Family& family = climber.families.at(v, parents);
            unknown.clear();
            each_toggle(v, parents, [&](int u) { if (std::isnan(family.toggled[at(u)])) unknown.push_back(u); });
            if (!unknown.empty() || std::isnan(family.own)) {
                climber.go_on();
                std::sort(unknown.begin(), unknown.end());
                unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
                climber.families.learn(v, parents, family, unknown);
            }
            double top = family.own + task.least;
            int best = -1;
            each_toggle(v, parents, [&](int u) {
                const double score = family.toggled[at(u)];
                if (score > top || (score == top && u < best)) top = score, best = u;
            });
            if (best < 0) return {std::move(parents), &family};
            parents = toggled(parents, best);
        }
    }

    // Whether u as one more parent adds to v.
    bool adds(int u, int v, const Choice& choice) {
        if (choice.parents.size() >= at(task.most) || !is_related[at(v * task.d + u)]) return false;
        Family& family = *choice.family;
        if (std::isnan(family.toggled[at(u)])) climber.families.learn(v, choice.parents, family, {u});
        return family.toggled[at(u)] > family.own + task.least;
    }

    void change(Plan& plan, int w, Choice theirs, double& others) {
        others += theirs.family->own - now[at(w)].family->own;
        plan.families.emplace_back(w, std::move(theirs));
    }

    void consider(Plan& plan, double others, std::size_t place, int x, const Choice& mine) const {
        const double gain = others + mine.family->own - now[at(x)].family->own;
        if (gain > plan.gain) plan.gain = gain, plan.place = place, plan.passed = plan.families.size(), plan.own = mine;
    }

    // As far as the best place.
    static Plan cut(Plan plan, int x) {
        if (!plan.own.family) return {};
        plan.families.resize(plan.passed);
        plan.families.emplace_back(x, std::move(plan.own));
        return plan;
    }

    Plan earlier(std::size_t from) {
        const int x = order[from];
        Plan plan;
        double others = 0.0;
        Choice mine = now[at(x)];
        for (std::size_t p = from; p-- > 0;) {
            const int w = order[p];
            if (required(w, x) || climber.spent()) break;
            before[at(w)] = 0;
            if (!adds(x, w, now[at(w)])) continue;
            before[at(x)] = 1;
            change(plan, w, improved(w, toggled(now[at(w)].parents, x)), others);
            before[at(x)] = 0;
            Nodes left;
            for (const int u : mine.parents)
                if (before[at(u)]) left.push_back(u);
            if (left.size() < mine.parents.size()) mine = improved(x, left);
            consider(plan, others, p, x, mine);
        }
        return cut(std::move(plan), x);
    }

    Plan later(std::size_t from) {
        const int x = order[from];
        Plan plan;
        double others = 0.0;
        Choice mine = now[at(x)];
        for (std::size_t p = from + 1; p < order.size(); ++p) {
            const int w = order[p];
            if (required(x, w) || climber.spent()) break;
            const Nodes& theirs = now[at(w)].parents;
            if (std::binary_search(theirs.begin(), theirs.end(), x)) change(plan, w, improved(w, toggled(theirs, x)), others);
            before[at(w)] = 1;
            if (!adds(w, x, mine)) continue;
            mine = improved(x, toggled(mine.parents, w));
            consider(plan, others, p, x, mine);
        }
        return cut(std::move(plan), x);
    }

    void put(int x, std::size_t place) {
        order.erase(std::find(order.begin(), order.end(), x));
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), x);
    }

    void swap(Plan& plan) {
        for (auto& [v, choice] : plan.families) std::swap(now[at(v)], choice);
    }

    double sum() const {
        double total = 0.0;
        for (const Choice& choice : now) total += choice.family->own;
        return total;
    }

    // Moves x, and where that loses nodes it has passed; whether all of it gains, the sum of the families too, which was
    // `start`. If not, everything is as before.
    bool moved(int x, double start, double gain, int depth) {
        for (const bool up : {true, false}) {
            climber.go_on();
            if (climber.spent()) return false;
            const auto from = static_cast<std::size_t>(std::find(order.begin(), order.end(), x) - order.begin());
            std::fill(before.begin(), before.end(), 0);
            for (std::size_t p = 0; p < from; ++p) before[at(order[p])] = 1;
            Plan plan = up ? earlier(from) : later(from);
            if (plan.families.empty()) continue;
            put(x, plan.place), swap(plan);
            if (gain + plan.gain > task.least && sum() > start) return true;
            if (depth > 1)
                for (const auto& family : plan.families)
                    if (family.first != x && moved(family.first, start, gain + plan.gain, depth - 1)) return true;
            put(x, from), swap(plan);
        }
        return false;
    }

    // Arrows that go first, then those that come: each graph on the way is part of one without cycles.
    void follow() {
        for (const Move move : {Move::del, Move::add})
            for (int v = 0; v < task.d; ++v) {
                const Nodes old = climber.graph.parents[at(v)];
                const Nodes &from = move == Move::del ? old : now[at(v)].parents, &to = move == Move::del ? now[at(v)].parents : old;
                for (const int u : from)
                    if (!std::binary_search(to.begin(), to.end(), u)) {
                        Family& family = *climber.now[at(v)];
                        climber.families.learn(v, climber.graph.parents[at(v)], family, {u});
                        climber.take({move, u, v, family.toggled[at(u)] - family.own, 0.0});
                    }
            }
    }

  public:
    Reorder(Climber& climber, std::uint64_t shuffle)
        : climber(climber), task(climber.task), order(climber.graph.order(shuffle)), related(at(task.d)),
          is_related(at(task.d * task.d), 0), before(at(task.d), 0) {
        for (int v = 0; v < task.d; ++v) {
            now.push_back({climber.graph.parents[at(v)], climber.now[at(v)]});
            const Family& alone = climber.families.at(v, {});
            for (int u = 0; u < task.d; ++u)
                if (u != v && (task.d <= kFew || alone.toggled[at(u)] > alone.own + task.least) && !climber.forbidden(u, v))
                    related[at(v)].push_back(u), is_related[at(v * task.d + u)] = 1;
        }
    }

    bool run() {
        bool any = false;
        for (int depth = 1; depth <= (task.d <= kFew ? 3 : 2); ++depth)
            for (bool again = true; again;) {
                again = false;
                for (int x = 0; x < task.d; ++x)
                    if (moved(x, sum(), 0.0, depth)) follow(), again = true;
                any |= again;
            }
        return any;
    }
};

bool Climber::reorder(std::uint64_t shuffle) { return Reorder(*this, shuffle).run(); }

}  // namespace posteriori
