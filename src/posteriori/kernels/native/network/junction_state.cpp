// Findings, and what they leave unchanged.
#include <algorithm>
#include <cmath>

#include "junction.hpp"

namespace posteriori {

// λ / max λ, the logarithm of the divisor beside it: products of these neither overflow nor vanish by their size alone. A
// vector with one positive cell is a hard finding.
void Findings::add(int v, const double* likelihood, int size) {
    int positive = 0, where = -1;
    double top = 0;
    for (int k = 0; k < size; ++k) {
        if (likelihood[k] > 0) ++positive, where = k;
        top = std::max(top, likelihood[k]);
    }
    log_weight[v] = top > 0 ? std::log(top) : 0.0;
    if (positive == 1) {
        hard[v] = where;
        return;
    }
    soft[v].assign(likelihood, likelihood + size);
    if (top > 0)
        for (double& x : soft[v]) x /= top;
}

void Findings::drop(int v) {
    hard[v] = -1;
    soft[v].clear();
    log_weight[v] = 0;
}

State::State(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), now_(plan_->sizes.size()) {
    const std::size_t n = plan_->sizes.size(), m = plan_->cliques.size();
    belief_.resize(plan_->belief_cells);
    up_.resize(plan_->message_cells);
    separator_.resize(plan_->message_cells);
    scratch_room_ = plan_->scratch_cells;
    scratch_.resize(scratch_room_);
    Index widest = 1;
    for (const Clique& clique : plan_->cliques) widest = std::max(widest, clique.message_cells);
    ratio_.resize(widest);
    message_.resize(widest);
    marginals_.resize(plan_->offsets.back());
    cells_.assign(m, 0);
    log_scale_.assign(m, 0);
    least_log_.assign(m, 0);
    product_log_.assign(m, 0);
    bound_.assign(m, 0);
    logs_.assign(m, 0);
    touched_.assign(m, 0);
    wanted_.assign(n, 1);
    wanted_below_.assign(m, 1);
    reset();
}

void State::reset() {
    const std::size_t n = plan_->sizes.size(), m = plan_->cliques.size();
    good_.assign(m, nothing);
    recomputed_.assign(m, 1);
    affected_.assign(n, 1);
    message_cells_.assign(m, 0);
    separator_cells_.assign(m, 0);
    wide_.assign(m, 0);
}

double State::log_probability() const {
    double total = log_probability_;
    for (double weight : now_.log_weight) total += weight;
    return total;
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
        for (int c : plan_->containing[v]) good_[c] = nothing;
    }
}

void State::change(int v, const double* likelihood) {
    now_.drop(v);
    mark_affected({v});
    if (likelihood) now_.add(v, likelihood, plan_->sizes[v]);
    for (int c : plan_->containing[v]) good_[c] = nothing;
}

// Who is d-connected to a changed node, by bouncing a ball (Shachter): hard findings stop it, and turn it back at a node
// that has a finding below.
void State::mark_affected(const std::vector<int>& changed) {
    const int n = static_cast<int>(plan_->sizes.size());
    // A node gets on the stack once in each way, of which there are three: `marks_` says which it has had.
    constexpr char kTold = 4;
    marks_.assign(n, 0);
    stack_.resize(3 * n);
    int* top = stack_.data();
    auto tell = [&](int v) {
        if (!(marks_[v] & kTold)) {
            marks_[v] |= kTold;
            *top++ = v;
        }
    };
    for (int v = 0; v < n; ++v)
        if (now_.hard[v] >= 0 || !now_.soft[v].empty()) tell(v);
    while (top != stack_.data())
        for (int p : plan_->parents[*--top]) tell(p);
    auto visit = [&](int v, int from_parent) {
        if (!(marks_[v] & (1 << from_parent))) {
            marks_[v] |= static_cast<char>(1 << from_parent);
            *top++ = 2 * v + from_parent;
        }
    };
    for (int v : changed) visit(v, 0);
    while (top != stack_.data()) {
        const int v = *--top / 2, from_parent = *top % 2;
        const bool open = now_.hard[v] < 0;
        if (open) {
            affected_[v] = 1;
            for (int c : plan_->children[v]) visit(c, 1);
        }
        if (from_parent ? (marks_[v] & kTold) != 0 : open)
            for (int p : plan_->parents[v]) visit(p, 0);
    }
}

bool State::any_affected(const Clique& clique) const {
    for (std::size_t k = clique.fresh; k < clique.nodes.size(); ++k)
        if (affected_[clique.nodes[k]]) return true;
    return false;
}

}  // namespace posteriori
