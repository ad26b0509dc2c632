// Messages over the tree. Symbols, for a clique c with separator S to its parent: B_c = ψ_c Π_children μ, its belief
// before the parent has spoken; μ_c[S] = Σ B_c, scaled so that its largest cell is 1; P[S] the posterior of the separator.
// The posterior of the clique is B_c · P[S] / μ_c[S]. A belief or a message whose positive cells lie further apart than
// doubles reach is kept in logarithms; posteriors never are: what they lose is below the smallest number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "junction.hpp"

namespace posteriori {
namespace {

constexpr int kMostTouches = 64;  // changes in place before rounding is wiped out by multiplying anew

double largest(const double* x, Index n) {
    double top = 0;
    for (Index i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    return top;
}

// Equal up to rounding. A table that is kept because its successor is the same to 1e-14 is never further off than that:
// the next successor is compared with what was kept.
bool same(const double* a, const double* b, Index n) {
    for (Index i = 0; i < n; ++i)
        if (!(std::fabs(a[i] - b[i]) <= 1e-14 * b[i])) return false;
    return true;
}

}  // namespace

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

// B_c = ψ_c Π μ_child Π λ over the axes without a hard finding.
void State::multiply(int c) {
    const Clique& clique = plan_->cliques[c];
    const int dims = static_cast<int>(clique.nodes.size());
    double* belief = belief_.data() + clique.place;
    Index cells = 1, message_cells = 1, base = 0;
    double least = clique.least_log;
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
    message_cells_[c] = message_cells;
    touched_[c] = 0;
    sweep<Assign>(own, belief, clique.potential.empty() ? &one : clique.potential.data() + base);
    for (int child : clique.children) least += least_log_[child];
    for (int v : clique.nodes)
        if (plan_->home[v] == c)
            for (double x : now_.soft[v])
                if (x > 0) least += std::min(0.0, std::log(x));
    bound_[c] = least;
    const bool in_logs = least < kLeastLog;
    if (in_logs && !clique.in_logs)
        for (Index i = 0; i < cells; ++i) belief[i] = std::log(belief[i]);
    auto take = [&](const Nest& nest, const double* factor, Index n, bool wide) {
        if (!in_logs) return sweep<Multiply>(nest, belief, factor);
        message_.resize(std::max<std::size_t>(message_.size(), n));
        for (Index i = 0; i < n; ++i) message_[i] = wide ? factor[i] : std::log(factor[i]);
        sweep<Plus>(nest, belief, message_.data());
    };
    for (std::size_t j = 0; j < clique.children.size(); ++j) {
        const int child = clique.children[j];
        if (message_cells_[child] > 1)  // a message over findings alone is 1
            take(over_message(c, &clique.shared[j]), up_.data() + plan_->cliques[child].message_place, message_cells_[child],
                 wide_[child]);
    }
    for (int v : clique.nodes) {
        if (plan_->home[v] != c || now_.soft[v].empty()) continue;
        Nest nest;
        for (int k = dims - 1; k >= 0; --k)
            if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], clique.nodes[k] == v);
        take(nest, now_.soft[v].data(), plan_->sizes[v], false);
    }
    product_log_[c] = 0;
    logs_[c] = 0;
    if (!in_logs) return;
    bool wide = false;
    product_log_[c] = settle(belief, cells, wide);
    logs_[c] = wide;
    touched_[c] = kMostTouches;  // not to be changed in place
}

// μ_c = Σ (or max) of B_c onto the separator, scaled to a largest cell of 1, left in message_. False when all is zero.
template <typename Reduce> bool State::send(int c) {
    const Index n = message_cells_[c];
    const double* belief = belief_.data() + plan_->cliques[c].place;
    double* message = message_.data();
    wide_[c] = 0;
    if (logs_[c]) {
        const Nest nest = over_message(c, nullptr);
        sums_.assign(n, LogSum());
        sweep<Largest>(nest, belief, sums_.data());
        if (!std::is_same_v<Reduce, Max>) sweep<Relative>(nest, belief, sums_.data());
        for (Index i = 0; i < n; ++i) message[i] = sums_[i].value();
        least_log_[c] = 0;
        double top = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < n; ++i) top = std::max(top, message[i]);
        for (Index i = 0; i < n; ++i)
            if (std::isfinite(message[i])) least_log_[c] = std::min(least_log_[c], message[i] - top);
        bool wide = false;
        top = settle(message, n, wide);
        wide_[c] = wide;
        log_scale_[c] = product_log_[c] + top;
        return std::isfinite(top);
    }
    std::fill(message, message + n, 0.0);
    sweep<Reduce>(over_message(c, nullptr), belief, message);
    const double top = largest(message, n);
    if (!(top > 0)) return false;
    double least = top;
    for (Index i = 0; i < n; ++i) {
        if (message[i] > 0 && message[i] < least) least = message[i];
        message[i] /= top;
    }
    log_scale_[c] = product_log_[c] + std::log(top);
    least_log_[c] = std::log(least / top);
    return true;
}

double State::log_message(int c, Index i) const {
    const double x = up_[plan_->cliques[c].message_place + i];
    return wide_[c] ? x : std::log(x);
}

// A new message changes the parent's belief: in place, by the ratio to the old one, where the belief is otherwise good and
// the old message is not zero where the new one is positive; else the belief is multiplied out again.
void State::tell_parent(int c, double least_before) {
    const Clique& clique = plan_->cliques[c];
    const int up = clique.parent;
    if (up < 0 || good_[up] == nothing) return;
    const Index n = message_cells_[c];
    const double* old = up_.data() + clique.message_place;
    bound_[up] += least_log_[c] - least_before;
    bool safe = touched_[up] < kMostTouches && bound_[up] > kLeastLog;
    for (Index i = 0; safe && i < n; ++i) {
        safe = old[i] > 1e-100 ? message_[i] == 0 || message_[i] > 1e-100 : message_[i] == old[i];
        ratio_[i] = old[i] > 0 ? message_[i] / old[i] : 0.0;
    }
    good_[up] = safe ? belief : nothing;
    if (!safe) return;
    ++touched_[up];
    sweep<Multiply>(over_message(up, &plan_->cliques[up].shared[clique.slot]), belief_.data() + plan_->cliques[up].place,
                    static_cast<const double*>(ratio_.data()));
}

bool State::collect() {
    impossible_ = false;
    for (int c = static_cast<int>(plan_->cliques.size()) - 1; c >= 0; --c) {
        if (good_[c] == all) continue;
        const Clique& clique = plan_->cliques[c];
        const Index before = message_cells_[c];
        const bool was_wide = wide_[c];
        const double least_before = least_log_[c];
        if (good_[c] == nothing) multiply(c);
        if (!send<Add>(c)) {
            reset();
            impossible_ = true;
            log_probability_ = -std::numeric_limits<double>::infinity();
            return false;
        }
        good_[c] = all;
        recomputed_[c] = 1;
        double* up = up_.data() + clique.message_place;
        const bool shape_stays = before == message_cells_[c] && !was_wide && !wide_[c];
        if (shape_stays && same(message_.data(), up, before)) continue;
        if (shape_stays)
            tell_parent(c, least_before);
        else if (clique.parent >= 0)
            good_[clique.parent] = nothing;
        std::copy(message_.begin(), message_.begin() + message_cells_[c], up);
    }
    log_probability_ = 0;
    for (double scale : log_scale_) log_probability_ += scale;
    return true;
}

// The posterior of clique c, up to scale: its belief times P[S] / μ[S].
const double* State::weighted(int c) {
    const Clique& clique = plan_->cliques[c];
    const double* belief = belief_.data() + clique.place;
    const bool alone = clique.parent < 0 || message_cells_[c] == 1;
    if (logs_[c]) {
        if (scratch_room_ < cells_[c]) scratch_.resize(scratch_room_ = cells_[c]);  // a root has no room of its own
        const Index n = message_cells_[c];
        for (Index i = 0; i < n; ++i) {
            const double p = alone ? 1.0 : separator_[clique.message_place + i], log_sum = alone ? 0.0 : log_message(c, i);
            for (Index j = i; j < cells_[c]; j += n) scratch_[j] = p > 0 ? std::exp(belief[j] - log_sum) * p : 0.0;
        }
        return scratch_.data();
    }
    if (alone) return belief;
    const double* up = up_.data() + clique.message_place;
    const double* posterior = separator_.data() + clique.message_place;
    const Index n = message_cells_[c];
    for (Index i = 0; i < n; ++i) ratio_[i] = posterior[i] > 0 ? posterior[i] / up[i] : 0.0;
    for (Index start = 0; start < cells_[c]; start += n)
        for (Index i = 0; i < n; ++i) scratch_[start + i] = belief[start + i] * ratio_[i];
    return scratch_.data();
}

// Marginals of nodes from a table over the axes from … to − 1 of a clique (those without a hard finding).
void State::read(const std::vector<int>& nodes, const Clique& clique, int from, int to, const double* table) {
    for (int v : nodes) {
        if (!affected_[v] || !wanted_[v]) continue;
        double* out = marginals_.data() + plan_->offsets[v];
        std::fill(out, out + plan_->sizes[v], 0.0);
        if (now_.hard[v] >= 0) {
            out[now_.hard[v]] = 1;
            continue;
        }
        Nest nest;
        for (int k = to - 1; k >= from; --k)
            if (now_.hard[clique.nodes[k]] < 0) nest.add(plan_->sizes[clique.nodes[k]], clique.nodes[k] == v);
        sweep<Add>(nest, table, out);
        normalise(out, plan_->sizes[v]);
    }
}

// Nodes that are in this clique alone, when no child needs its posterior: Σ_S B · P[S]/μ[S] first, in one pass.
void State::read_leaf(int c) {
    const Clique& clique = plan_->cliques[c];
    const double* belief = belief_.data() + clique.place;
    const Index n = message_cells_[c];
    const double* table = belief;
    if (logs_[c]) return read(clique.read_here, clique, 0, static_cast<int>(clique.nodes.size()), weighted(c));
    if (clique.parent >= 0 && n > 1) {
        const double* up = up_.data() + clique.message_place;
        const double* posterior = separator_.data() + clique.message_place;
        for (Index i = 0; i < n; ++i) ratio_[i] = posterior[i] > 0 ? posterior[i] / up[i] : 0.0;
        for (Index r = 0; r * n < cells_[c]; ++r) {
            double sum = 0;
            for (Index i = 0; i < n; ++i) sum += belief[r * n + i] * ratio_[i];
            scratch_[r] = sum;
        }
        table = scratch_.data();
    }
    read(clique.read_here, clique, 0, clique.fresh, table);
}

// From the roots down. A clique is visited when its own belief or its separator changed; a separator none of whose nodes
// is d-connected to what changed keeps its posterior, and so does all that hangs on it.
bool State::distribute() {
    if (impossible_) return false;
    const int m = static_cast<int>(plan_->cliques.size());
    moved_.assign(m, 0);  // the separator's posterior is new
    for (int c = 0; c < m; ++c) {
        const Clique& clique = plan_->cliques[c];
        if (!(recomputed_[c] || moved_[c]) || !wanted_below_[c]) continue;
        recomputed_[c] = 0;
        const double* belief = nullptr;
        for (std::size_t j = 0; j < clique.children.size(); ++j) {
            const int child = clique.children[j];
            const Clique& below = plan_->cliques[child];
            if (!wanted_below_[child] || !any_affected(below)) continue;
            const Index n = message_cells_[child];
            double* posterior = separator_.data() + below.message_place;
            if (n > 1) {
                if (!belief) belief = weighted(c);
                std::fill(message_.begin(), message_.begin() + n, 0.0);
                sweep<Add>(over_message(c, &clique.shared[j]), belief, message_.data());
                normalise(message_.data(), n);
            } else {
                message_[0] = 1;
            }
            moved_[child] = separator_cells_[child] != n || !same(message_.data(), posterior, n);
            if (moved_[child]) std::copy(message_.begin(), message_.begin() + n, posterior);
            separator_cells_[child] = n;
            read(below.read_message, below, below.fresh, static_cast<int>(below.nodes.size()), posterior);
        }
        if (std::none_of(clique.read_here.begin(), clique.read_here.end(), [&](int v) { return affected_[v] && wanted_[v]; }))
            continue;
        if (belief)
            read(clique.read_here, clique, 0, static_cast<int>(clique.nodes.size()), belief);
        else
            read_leaf(c);
    }
    std::fill(affected_.begin(), affected_.end(), 0);
    return true;
}

// Messages by maximum to the roots, then the best cell of each clique given the separator that its parent has fixed.
bool State::most_probable(std::vector<int>& states, double& log_value) {
    reset();
    log_value = 0;
    for (double weight : now_.log_weight) log_value += weight;
    for (int c = static_cast<int>(plan_->cliques.size()) - 1; c >= 0; --c) {
        multiply(c);
        if (!send<Max>(c)) return false;
        std::copy(message_.begin(), message_.begin() + message_cells_[c], up_.data() + plan_->cliques[c].message_place);
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

}  // namespace posteriori
