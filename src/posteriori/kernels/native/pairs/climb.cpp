#include "pairs/climb.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace posteriori {
namespace {

std::size_t at(int v) { return static_cast<std::size_t>(v); }

// Steele, Lea and Flood's splitmix64.
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

std::uint64_t code_of(int u, int v) {
    std::uint64_t state = static_cast<std::uint64_t>(u) << 32 | static_cast<std::uint64_t>(v);
    return next_random(state);
}

}  // namespace

Nodes toggled(const Nodes& set, int node) {
    Nodes out;
    out.reserve(set.size() + 1);
    const auto place = std::lower_bound(set.begin(), set.end(), node);
    const bool there = place != set.end() && *place == node;
    out.insert(out.end(), set.begin(), place);
    if (!there) out.push_back(node);
    out.insert(out.end(), place + there, set.end());
    return out;
}

Family& Families::at(int v, const Nodes& parents) {
    Family& family = seen[posteriori::at(v)][parents];
    if (family.toggled.empty()) family.toggled.assign(posteriori::at(task.d), kUnknown);
    return family;
}

void Families::learn(int v, const Nodes& parents, Family& family, const Nodes& candidates) {
    Nodes missing;
    std::vector<Family*> theirs;
    for (const int u : candidates) {
        double& score = family.toggled[posteriori::at(u)];
        if (!std::isnan(score)) continue;
        Family& other = seen[posteriori::at(v)][toggled(parents, u)];
        score = other.own;
        if (std::isnan(score)) missing.push_back(u), theirs.push_back(&other);
    }
    const bool own = std::isnan(family.own);
    if (missing.empty() && !own) return;
    std::vector<double> out(missing.size() + 1);
    asked += out.size();
    task.ask(v, parents, missing, own, out.data());
    if (own) family.own = out[0];
    for (std::size_t k = 0; k < missing.size(); ++k) family.toggled[posteriori::at(missing[k])] = theirs[k]->own = out[k + 1];
}

void Families::learn_pairs(const std::function<void()>& go_on) {
    const auto may = [&](int u, int v) { return !task.forbidden[posteriori::at(u * task.d + v)]; };
    for (int v = 0; v < task.d; ++v) {
        Family& family = at(v, {});
        Nodes others;
        go_on();
        for (int u = task.symmetric ? v + 1 : 0; u < task.d; ++u)
            if (u != v && (may(u, v) || (task.symmetric && may(v, u)))) others.push_back(u);
        learn(v, {}, family, others);
    }
    for (int v = 0; task.symmetric && v < task.d; ++v)
        for (int u = v + 1; u < task.d; ++u) {
            const Family& one = at(v, {});
            Family& other = at(u, {});
            double& own = seen[posteriori::at(u)][{v}].own;
            if (std::isnan(own)) own = other.own + (one.toggled[posteriori::at(u)] - one.own);
            other.toggled[posteriori::at(v)] = own;
        }
}

Network::Network(const std::vector<Nodes>& parents)
    : d(parents.size()), words((d + 63) / 64), reached(d * words, 0), parents(parents) {
    reach();
}

bool Network::has(int u, int v) const { return std::binary_search(parents[at(v)].begin(), parents[at(v)].end(), u); }

bool Network::can_turn(int u, int v) const {
    return std::none_of(parents[at(v)].begin(), parents[at(v)].end(), [&](int p) { return leads(u, p); });
}

void Network::toggle(int u, int v) {
    const bool there = has(u, v);
    parents[at(v)] = toggled(parents[at(v)], u);
    if (there) return reach();
    std::vector<std::uint64_t> below(reached.begin() + static_cast<std::ptrdiff_t>(at(v) * words),
                                     reached.begin() + static_cast<std::ptrdiff_t>(at(v) * words + words));
    below[at(v) / 64] |= std::uint64_t{1} << (v % 64);
    for (std::size_t a = 0; a < d; ++a)
        if (a == at(u) || leads(static_cast<int>(a), u))
            for (std::size_t w = 0; w < words; ++w) reached[a * words + w] |= below[w];
}

void Network::turn(int u, int v) {
    parents[at(v)] = toggled(parents[at(v)], u);
    parents[at(u)] = toggled(parents[at(u)], v);
    reach();
}

Nodes Network::order(std::uint64_t shuffle) const {
    std::vector<std::size_t> waiting(d);
    std::vector<Nodes> children(d);
    std::vector<std::pair<std::uint64_t, int>> ready;
    const auto add = [&](int v) {
        std::uint64_t state = shuffle + at(v);
        ready.emplace_back(shuffle ? next_random(state) : at(v), v);
        std::push_heap(ready.begin(), ready.end(), std::greater<>());
    };
    for (std::size_t v = 0; v < d; ++v) {
        waiting[v] = parents[v].size();
        for (const int u : parents[v]) children[at(u)].push_back(static_cast<int>(v));
        if (!waiting[v]) add(static_cast<int>(v));
    }
    Nodes out;
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), std::greater<>());
        const int v = ready.back().second;
        ready.pop_back(), out.push_back(v);
        for (const int c : children[at(v)])
            if (!--waiting[at(c)]) add(c);
    }
    return out;
}

void Network::reach() {
    std::fill(reached.begin(), reached.end(), 0);
    const Nodes first = order();
    for (auto v = first.rbegin(); v != first.rend(); ++v)
        for (const int u : parents[at(*v)]) {
            for (std::size_t w = 0; w < words; ++w) reached[at(u) * words + w] |= reached[at(*v) * words + w];
            reached[at(u) * words + at(*v) / 64] |= std::uint64_t{1} << (*v % 64);
        }
}

Climber::Climber(const ClimbTask& task, const std::vector<Nodes>& start)
    : task(task), families(task), graph(start), now(start.size(), nullptr), best(start) {}

bool Climber::may_turn(int u, int v) const { return !required(u, v) && !forbidden(v, u) && !full(u) && graph.can_turn(u, v); }

void Climber::go_on(const Step* step) {
    if (!task.tell(step)) throw Ended{};
}

void Climber::load(int v) {
    now[at(v)] = &families.at(v, graph.parents[at(v)]);
    if (std::isnan(now[at(v)]->own)) families.learn(v, graph.parents[at(v)], *now[at(v)], {});
}

// Always in the order of the nodes, so that it is a function of the graph alone.
double Climber::after(const Step& step) const {
    double sum = 0.0;
    for (int v = 0; v < task.d; ++v) {
        const Family& family = *now[at(v)];
        const bool child = v == step.child, turned = v == step.parent && step.move == Move::turn;
        sum += child ? family.toggled[at(step.parent)] : turned ? family.toggled[at(step.child)] : family.own;
    }
    return sum;
}

void Climber::rest() {
    score = 0.0;
    for (const Family* family : now) score += family->own;
}

std::vector<Step> Climber::choices() {
    std::vector<Step> out;
    std::vector<Nodes> asked(at(task.d));
    for (int u = 0; u < task.d; ++u)
        for (int v = 0; v < task.d; ++v)
            if (u != v && !graph.leads(v, u) && !forbidden(u, v) && !full(v) && !graph.has(u, v)) {
                out.push_back({Move::add, u, v, 0.0, 0.0});
                if (std::isnan(worth(u, v))) asked[at(v)].push_back(u);
            }
    for (const Move move : {Move::del, Move::turn})
        for (int u = 0; u < task.d; ++u)
            for (int v = 0; v < task.d; ++v)
                if (graph.leads(u, v) && graph.has(u, v) && (move == Move::del ? !required(u, v) : may_turn(u, v))) {
                    out.push_back({move, u, v, 0.0, 0.0});
                    if (move == Move::del) asked[at(v)].push_back(u);
                    if (move == Move::turn) asked[at(u)].push_back(v);
                }
    for (int v = 0; v < task.d; ++v)
        if (!asked[at(v)].empty()) go_on(), families.learn(v, graph.parents[at(v)], *now[at(v)], asked[at(v)]);
    for (Step& step : out) {
        step.gain = worth(step.parent, step.child) + (step.move == Move::turn ? worth(step.child, step.parent) : 0.0);
        step.score = score + step.gain;
    }
    return out;
}

void Climber::take(const Step& step) {
    if (step.move == Move::turn) {
        graph.turn(step.parent, step.child);
        load(step.parent);
    } else {
        graph.toggle(step.parent, step.child);
    }
    load(step.child);
    rest();
    steps.push_back({step.move, step.parent, step.child, step.gain, score});
    if (score > best_score + task.least) best_score = score, best = graph.parents, best_steps = steps.size();
    go_on(&steps.back());
}

void Climber::back() {
    graph = Network(best);
    for (int v = 0; v < task.d; ++v) load(v);
    rest();
    steps.resize(best_steps);
}

// The best step while it gains; with `tabu` up to so many that do not, to none of as many graphs seen last.
void Climber::greedy(int tabu) {
    std::uint64_t here = 0;
    for (int v = 0; v < task.d; ++v)
        for (const int u : graph.parents[at(v)]) here ^= code_of(u, v);
    std::deque<std::uint64_t> recent{here};
    const auto leads_to = [&](const Step& s) { return here ^ code_of(s.parent, s.child) ^ (s.move == Move::turn ? code_of(s.child, s.parent) : 0); };
    for (int idle = 0;;) {
        std::vector<Step> all = choices();
        if (tabu)
            all.erase(std::remove_if(all.begin(), all.end(), [&](const Step& s) { return std::find(recent.begin(), recent.end(), leads_to(s)) != recent.end(); }), all.end());
        double top = -std::numeric_limits<double>::infinity();
        for (const Step& step : all) top = std::max(top, step.gain);
        const auto first = std::find_if(all.begin(), all.end(), [&](const Step& step) { return step.gain >= top - task.least; });
        if (first == all.end()) return;  // there is none, or no gain is a number
        const double next = after(*first);
        idle = next > best_score + task.least ? 0 : idle + 1;
        if (tabu ? idle > tabu : !(top > task.least && next > score)) return;
        here = leads_to(*first);
        recent.push_back(here);
        if (recent.size() > static_cast<std::size_t>(std::max(tabu, 1))) recent.pop_front();
        take(*first);
    }
}

void Climber::shake(int n, std::uint64_t& state) {
    back();
    for (int k = 0; k < n; ++k) {
        const std::vector<Step> all = choices();
        if (all.empty()) return;
        take(all[next_random(state) % all.size()]);
    }
}

// Turns arrows that the score cannot tell, u → v where the other parents of v are the parents of u, each or not by chance.
void Climber::wander(std::uint64_t& state) {
    for (int v = 0; v < task.d; ++v)
        for (const int u : Nodes(graph.parents[at(v)])) {
            if (!(next_random(state) & 1) || toggled(graph.parents[at(v)], u) != graph.parents[at(u)] || !may_turn(u, v)) continue;
            families.learn(v, graph.parents[at(v)], *now[at(v)], {u});
            families.learn(u, graph.parents[at(u)], *now[at(u)], {v});
            take({Move::turn, u, v, worth(u, v) + worth(v, u), 0.0});
        }
}

// From no arrows but the required ones, in an order by chance.
void Climber::scatter(std::uint64_t& state) {
    back();
    for (int v = 0; v < task.d; ++v)
        for (const int u : Nodes(graph.parents[at(v)]))
            if (!required(u, v)) {
                families.learn(v, graph.parents[at(v)], *now[at(v)], {u});
                take({Move::del, u, v, worth(u, v), 0.0});
            }
    if (reorder(next_random(state))) greedy(0);
}

// Where no step gains, nodes elsewhere in the order may; in another order of another network of the class too.
void Climber::settle(int tabu) {
    greedy(tabu);
    if (!allowed) allowed = task.moves + kMoves * families.asked;
    until = families.asked + allowed;
    std::uint64_t state = 1;
    for (int k = 0; k < task.orders && !spent();) {
        const double before = best_score;
        back();  // a tabu walk ends below its best
        if (k && task.symmetric) wander(state);
        if (reorder(k ? next_random(state) : 0)) greedy(tabu);
        k = best_score > before + task.least ? 0 : k + 1;
    }
}

Climbed Climber::run() {
    bool finished = true;
    for (int v = 0; v < task.d; ++v) load(v);
    rest();
    try {
        best_score = score;
        go_on();
        families.learn_pairs([this] { go_on(); });
        settle(0);
        std::uint64_t chance = 1;
        for (int k = 0; task.orders && task.d <= kFewer && k < kScattered; ++k) {
            const double before = best_score;
            scatter(chance);
            if (best_score > before + task.least) settle(0);
        }
        if (task.tabu) settle(task.tabu);  // from the best without it, which is never lost
        std::uint64_t state = task.seed;
        for (int k = 0; k < task.restarts; ++k) shake(std::max(3, task.d / 2), state), settle(task.tabu);
    } catch (const Ended&) {
        finished = false;
    }
    back();
    std::vector<double> own;
    for (const Family* family : now) own.push_back(family->own);
    return {graph.parents, own, steps, finished};
}

Climbed climb(const ClimbTask& task, const std::vector<Nodes>& start) { return Climber(task, start).run(); }

}  // namespace posteriori
