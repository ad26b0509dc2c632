// Messages over the tree. Symbols, for a clique c with separator S to its parent: B_c = ψ_c Π_children μ, its belief
// before the parent has spoken; μ_c[S] = Σ B_c, scaled so that its largest cell is 1; P[S] the posterior of the separator.
// The posterior of the clique is B_c · P[S] / μ_c[S].
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "junction.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

double largest(const double* x, Index n) {
    double top = 0;
    for (Index i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    return top;
}

// Scales to sum one; false when there is nothing to scale.
bool normalise(double* x, Index n) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += x[i];
    if (!(total > 0)) return false;
    const double scale = 1 / total;
    if (std::isfinite(scale))
        for (Index i = 0; i < n; ++i) x[i] *= scale;
    else
        for (Index i = 0; i < n; ++i) x[i] /= total;
    return true;
}

}  // namespace

// A vector with one positive cell is a hard finding, times a constant.
void Findings::add(int v, const double* likelihood, int size) {
    int positive = 0, where = -1;
    for (int k = 0; k < size; ++k)
        if (likelihood[k] > 0) ++positive, where = k;
    if (positive == 1) {
        hard[v] = where;
        log_weight += std::log(likelihood[where]);
    } else {
        soft[v].assign(likelihood, likelihood + size);
    }
}

State::State(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), now_(plan_->sizes.size()) {
    const std::size_t n = plan_->sizes.size(), m = plan_->cliques.size();
    belief_.resize(plan_->belief_cells);
    up_.resize(plan_->message_cells);
    separator_.resize(plan_->message_cells);
    scratch_.resize(plan_->scratch_cells);
    Index widest = 1;
    for (const Clique& clique : plan_->cliques) widest = std::max(widest, clique.message_cells);
    ratio_.resize(widest);
    message_.resize(widest);
    marginals_.resize(plan_->offsets.back());
    cells_.assign(m, 0);
    message_cells_.assign(m, 0);
    log_scale_.assign(m, 0);
    least_log_.assign(m, 0);
    wanted_.assign(n, 1);
    wanted_below_.assign(m, 1);
    reset();
}

void State::reset() {
    const std::size_t n = plan_->sizes.size(), m = plan_->cliques.size();
    collected_.assign(m, 0);
    recomputed_.assign(m, 1);
    affected_.assign(n, 1);
}

void State::only(const std::vector<int>& nodes) {
    wanted_.assign(plan_->sizes.size(), 0);
    for (int v : nodes) wanted_[v] = 1;
    auto any = [&](const std::vector<int>& list) {
        return std::any_of(list.begin(), list.end(), [&](int v) { return wanted_[v]; });
    };
    for (int c = static_cast<int>(plan_->cliques.size()) - 1; c >= 0; --c) {
        const Clique& clique = plan_->cliques[c];
        wanted_below_[c] = any(clique.read_here) || any(clique.read_message);
        for (int child : clique.children) wanted_below_[c] |= wanted_below_[child];
    }
}

void State::set(const Findings& findings) {
    now_.log_weight = findings.log_weight;
    std::vector<int> changed;
    for (std::size_t v = 0; v < plan_->sizes.size(); ++v)
        if (findings.hard[v] != now_.hard[v] || findings.soft[v] != now_.soft[v]) changed.push_back(static_cast<int>(v));
    if (changed.empty()) return;
    for (int v : changed) {
        now_.hard[v] = -1;
        now_.soft[v].clear();
    }
    mark_affected(changed);  // given the findings that stay
    for (int v : changed) {
        now_.hard[v] = findings.hard[v];
        now_.soft[v] = findings.soft[v];
        for (int c : plan_->containing[v]) collected_[c] = 0;
    }
}

// Who is d-connected to a changed node, by bouncing a ball (Shachter): hard findings stop it, and turn it back at a node
// that has a finding below.
void State::mark_affected(const std::vector<int>& changed) {
    const std::size_t n = plan_->sizes.size();
    std::vector<char> told(n, 0), seen(2 * n, 0);
    std::vector<int> stack;
    for (std::size_t v = 0; v < n; ++v)
        if (now_.hard[v] >= 0 || !now_.soft[v].empty()) stack.push_back(static_cast<int>(v));
    while (!stack.empty()) {
        const int v = stack.back();
        stack.pop_back();
        if (told[v]) continue;
        told[v] = 1;
        for (int p : plan_->parents[v]) stack.push_back(p);
    }
    auto visit = [&](int v, int from_parent) {
        if (!seen[2 * v + from_parent]) {
            seen[2 * v + from_parent] = 1;
            stack.push_back(2 * v + from_parent);
        }
    };
    for (int v : changed) visit(v, 0);
    while (!stack.empty()) {
        const int v = stack.back() / 2, from_parent = stack.back() % 2;
        stack.pop_back();
        const bool open = now_.hard[v] < 0;
        if (open) {
            affected_[v] = 1;
            for (int c : plan_->children[v]) visit(c, 1);
        }
        if (from_parent ? told[v] : open)
            for (int p : plan_->parents[v]) visit(p, 0);
    }
}

bool State::any_affected(const Clique& clique) const {
    for (std::size_t k = clique.fresh; k < clique.nodes.size(); ++k)
        if (affected_[clique.nodes[k]]) return true;
    return false;
}

// The belief of clique c beside a message: its own to the parent, or a child's (`shared` says which axes that has).
Nest State::over_message(int c, const std::vector<char>* shared) const {
    const Clique& clique = plan_->cliques[c];
    Nest nest;
    Index step = 1;
    for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= 0; --k) {
        const int v = clique.nodes[k];
        if (now_.hard[v] >= 0) continue;
        const bool in = shared ? (*shared)[k] : k >= clique.fresh;
        nest.add(plan_->sizes[v], in ? step : 0);
        if (in) step *= plan_->sizes[v];
    }
    return nest;
}

// B_c = ψ_c Π μ_child Π λ over the axes without a hard finding, and the message from it, left in message_.
// False when every cell is zero.
template <typename Reduce> bool State::gather(int c) {
    const Clique& clique = plan_->cliques[c];
    const int dims = static_cast<int>(clique.nodes.size());
    double* belief = belief_.data() + clique.place;
    Index cells = 1, message_cells = 1, base = 0;
    double least = clique.least_log, log_scale = 0;
    Nest own;
    for (int k = dims - 1; k >= 0; --k) {
        const int v = clique.nodes[k];
        const Index stride = clique.potential.empty() ? 0 : clique.stride[k];
        if (now_.hard[v] >= 0) {
            base += now_.hard[v] * stride;
            continue;
        }
        own.add(plan_->sizes[v], stride);
        cells *= plan_->sizes[v];
        if (k >= clique.fresh) message_cells *= plan_->sizes[v];
    }
    const double one = 1;
    cells_[c] = cells;
    sweep<Assign>(own, belief, clique.potential.empty() ? &one : clique.potential.data() + base);
    for (int child : clique.children) least += least_log_[child];
    for (int v : clique.nodes)
        if (plan_->home[v] == c)
            for (double x : now_.soft[v])
                if (x > 0) least += std::min(0.0, std::log(x));
    const bool in_logs = least < kLeastLog;
    if (in_logs)
        for (Index i = 0; i < cells; ++i) belief[i] = std::log(belief[i]);
    auto take = [&](const Nest& nest, const double* factor, Index n) {
        if (!in_logs) return sweep<Multiply>(nest, belief, factor);
        message_.resize(std::max<std::size_t>(message_.size(), n));
        for (Index i = 0; i < n; ++i) message_[i] = std::log(factor[i]);
        sweep<Plus>(nest, belief, message_.data());
    };
    for (std::size_t j = 0; j < clique.children.size(); ++j) {
        const int child = clique.children[j];
        if (message_cells_[child] > 1)  // a message over findings alone is 1
            take(over_message(c, &clique.shared[j]), up_.data() + plan_->cliques[child].message_place, message_cells_[child]);
    }
    for (int v : clique.nodes) {
        if (plan_->home[v] != c || now_.soft[v].empty()) continue;
        Nest nest;
        for (int k = dims - 1; k >= 0; --k)
            if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], clique.nodes[k] == v);
        take(nest, now_.soft[v].data(), plan_->sizes[v]);
    }
    if (in_logs) log_scale = from_logs(belief, cells);
    message_cells_[c] = message_cells;
    double* message = message_.data();
    std::fill(message, message + message_cells, 0.0);
    sweep<Reduce>(over_message(c, nullptr), static_cast<const double*>(belief), message);
    const double top = largest(message, message_cells);
    if (!(top > 0)) return false;
    double least_cell = top;
    for (Index i = 0; i < message_cells; ++i) {
        if (message[i] > 0 && message[i] < least_cell) least_cell = message[i];
        message[i] /= top;
    }
    log_scale_[c] = log_scale + std::log(top);
    least_log_[c] = std::log(least_cell / top);
    return true;
}

bool State::collect() {
    impossible_ = false;
    for (int c = static_cast<int>(plan_->cliques.size()) - 1; c >= 0; --c) {
        if (collected_[c]) continue;
        const Clique& clique = plan_->cliques[c];
        const Index before = message_cells_[c];
        if (!gather<Add>(c)) {
            reset();
            impossible_ = true;
            log_probability_ = -std::numeric_limits<double>::infinity();
            return false;
        }
        collected_[c] = recomputed_[c] = 1;
        double* up = up_.data() + clique.message_place;
        const std::size_t bytes = message_cells_[c] * sizeof(double);
        if (clique.parent >= 0 && (before != message_cells_[c] || std::memcmp(up, message_.data(), bytes) != 0))
            collected_[clique.parent] = 0;
        std::memcpy(up, message_.data(), bytes);
    }
    log_probability_ = 0;
    for (double scale : log_scale_) log_probability_ += scale;
    return true;
}

// The posterior of clique c, up to scale: its belief times P[S] / μ[S].
const double* State::weighted(int c) {
    const Clique& clique = plan_->cliques[c];
    const double* belief = belief_.data() + clique.place;
    if (clique.parent < 0 || message_cells_[c] == 1) return belief;
    const double* up = up_.data() + clique.message_place;
    const double* posterior = separator_.data() + clique.message_place;
    const Index n = message_cells_[c];
    for (Index i = 0; i < n; ++i) ratio_[i] = posterior[i] > 0 ? posterior[i] / up[i] : 0.0;
    for (Index start = 0; start < cells_[c]; start += n)
        for (Index i = 0; i < n; ++i) scratch_[start + i] = belief[start + i] * ratio_[i];
    return scratch_.data();
}

// Marginals of the nodes that are read from the belief of c.
void State::read(int c, const double* belief) {
    const Clique& clique = plan_->cliques[c];
    for (int v : clique.read_here) {
        if (!affected_[v] || !wanted_[v]) continue;
        double* out = marginals_.data() + plan_->offsets[v];
        std::fill(out, out + plan_->sizes[v], 0.0);
        if (now_.hard[v] >= 0) {
            out[now_.hard[v]] = 1;
            continue;
        }
        Nest nest;
        for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= 0; --k)
            if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], clique.nodes[k] == v);
        sweep<Add>(nest, belief, out);
        normalise(out, plan_->sizes[v]);
    }
}

void State::read_separator(int c) {
    const Clique& clique = plan_->cliques[c];
    for (int v : clique.read_message) {
        if (!affected_[v] || !wanted_[v]) continue;
        double* out = marginals_.data() + plan_->offsets[v];
        std::fill(out, out + plan_->sizes[v], 0.0);
        if (now_.hard[v] >= 0) {
            out[now_.hard[v]] = 1;
            continue;
        }
        Nest nest;
        for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= clique.fresh; --k)
            if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], clique.nodes[k] == v);
        sweep<Add>(nest, static_cast<const double*>(separator_.data() + clique.message_place), out);
        normalise(out, plan_->sizes[v]);
    }
}

// From the roots down. A clique is visited when its own belief or its separator changed; a separator none of whose nodes
// is d-connected to what changed keeps its posterior, and so does all that hangs on it.
bool State::distribute() {
    if (impossible_) return false;
    const int m = static_cast<int>(plan_->cliques.size());
    std::vector<char> moved(m, 0);  // the separator's posterior is new
    for (int c = 0; c < m; ++c) {
        const Clique& clique = plan_->cliques[c];
        if (!(recomputed_[c] || moved[c]) || !wanted_below_[c]) continue;
        recomputed_[c] = 0;
        const double* belief = nullptr;
        auto have = [&] { return belief ? belief : belief = weighted(c); };
        if (std::any_of(clique.read_here.begin(), clique.read_here.end(), [&](int v) { return affected_[v] && wanted_[v]; }))
            read(c, have());
        for (std::size_t j = 0; j < clique.children.size(); ++j) {
            const int child = clique.children[j];
            if (!wanted_below_[child] || !any_affected(plan_->cliques[child])) continue;
            moved[child] = 1;
            double* posterior = separator_.data() + plan_->cliques[child].message_place;
            std::fill(posterior, posterior + message_cells_[child], 0.0);
            if (message_cells_[child] > 1) {
                sweep<Add>(over_message(c, &clique.shared[j]), have(), posterior);
                normalise(posterior, message_cells_[child]);
            } else {
                posterior[0] = 1;
            }
            read_separator(child);
        }
    }
    std::fill(affected_.begin(), affected_.end(), 0);
    return true;
}

bool State::joint(const std::vector<int>& nodes, std::vector<double>& out) {
    int best = -1;
    for (int c : plan_->containing[nodes[0]]) {
        const auto& held = plan_->cliques[c].nodes;
        const bool all = std::all_of(nodes.begin(), nodes.end(),
                                     [&](int v) { return std::find(held.begin(), held.end(), v) != held.end(); });
        if (all && (best < 0 || cells_[c] < cells_[best])) best = c;
    }
    if (best < 0) return false;
    const Clique& clique = plan_->cliques[best];
    std::vector<Index> stride(plan_->sizes.size(), 0);
    Index cells = 1, base = 0;
    for (auto v = nodes.rbegin(); v != nodes.rend(); ++v) {
        stride[*v] = cells;
        if (now_.hard[*v] >= 0) base += now_.hard[*v] * cells;
        cells *= plan_->sizes[*v];
    }
    out.assign(cells, 0.0);
    Nest nest;
    for (int k = static_cast<int>(clique.nodes.size()) - 1; k >= 0; --k)
        if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], stride[clique.nodes[k]]);
    sweep<Add>(nest, weighted(best), out.data() + base);
    return normalise(out.data(), cells);
}

// Messages by maximum to the roots, then the best cell of each clique given the separator that its parent has fixed.
bool State::most_probable(std::vector<int>& states, double& log_value) {
    reset();
    log_value = now_.log_weight;
    for (int c = static_cast<int>(plan_->cliques.size()) - 1; c >= 0; --c) {
        if (!gather<Max>(c)) return false;
        std::copy(message_.begin(), message_.begin() + message_cells_[c], up_.begin() + plan_->cliques[c].message_place);
        log_value += log_scale_[c];
    }
    states = now_.hard;
    for (std::size_t c = 0; c < plan_->cliques.size(); ++c) {
        const Clique& clique = plan_->cliques[c];
        const double* belief = belief_.data() + clique.place;
        Index given = 0;
        for (std::size_t k = clique.fresh; k < clique.nodes.size(); ++k)
            if (now_.hard[clique.nodes[k]] < 0) given = given * plan_->sizes[clique.nodes[k]] + states[clique.nodes[k]];
        const Index step = message_cells_[c];
        Index best = given;
        for (Index i = given; i < cells_[c]; i += step)
            if (belief[i] > belief[best]) best = i;
        Index rest = best / step;
        for (int k = clique.fresh - 1; k >= 0; --k) {
            const int v = clique.nodes[k];
            if (now_.hard[v] >= 0) continue;
            states[v] = static_cast<int>(rest % plan_->sizes[v]);
            rest /= plan_->sizes[v];
        }
    }
    return true;
}

void batch(const std::shared_ptr<const Plan>& plan, const int* cases, Index rows, const std::vector<int>& targets, double* out,
           char* possible, int threads) {
    const Index d = static_cast<Index>(plan->sizes.size());
    Index width = 0;
    for (int v : targets) width += plan->sizes[v];
    constexpr Index chunk = 16;
    std::mutex guard;
    std::vector<std::unique_ptr<State>> idle;  // one state a thread, handed on from chunk to chunk
    parallel_for((rows + chunk - 1) / chunk, threads, [&](std::size_t task) {
        std::unique_ptr<State> state;
        {
            std::lock_guard<std::mutex> hold(guard);
            if (!idle.empty()) state = std::move(idle.back()), idle.pop_back();
        }
        if (!state) {
            state = std::make_unique<State>(plan);
            state->only(targets);
        }
        Findings findings(d);
        for (Index r = task * chunk; r < std::min<Index>(rows, (task + 1) * chunk); ++r) {
            std::copy(cases + r * d, cases + (r + 1) * d, findings.hard.begin());
            state->set(findings);
            state->reset();  // every case from nothing: its answer is free of the case before it
            possible[r] = state->collect() && state->distribute();
            double* mine = out + r * width;
            for (int v : targets) {
                const double* from = state->marginals().data() + plan->offsets[v];
                mine = possible[r] ? std::copy(from, from + plan->sizes[v], mine) : std::fill_n(mine, plan->sizes[v], 0.0);
            }
        }
        std::lock_guard<std::mutex> hold(guard);
        idle.push_back(std::move(state));
    });
}

}  // namespace posteriori
