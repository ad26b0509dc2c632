// How well each density of a column foretells the rows of a sample, each left out in turn, and the best for all columns
// together. densities/choice.py says what is computed and why.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "densities.hpp"

namespace posteriori {
namespace {

constexpr double ROWS = 1.0, NEVER = -std::numeric_limits<double>::infinity();
constexpr double ALONE = 1e-4;  // less than this share of a sum of kernels is none: sums are known to a tenth of it
constexpr double LITTLE = 1e-9;  // nats: a gain below it is rounding, which depends on the order of the rows
constexpr int FOLDS = 10;
const double LOG_2PI = std::log(2.0 * std::acos(-1.0));

// The cell that holds x.
std::size_t cell_of(const Histo& h, double x) {
    const auto at = std::upper_bound(h.values, h.values + h.V, x) - h.values;
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - 1, 0));
}

// How much of the places 0 … t goes to a fold, when each in turn gets one.
double dealt(double t, int fold) {
    const double round = std::floor(t / FOLDS);
    return round + std::clamp(t - FOLDS * round - fold, 0.0, 1.0);
}

// Bins as they are, the row's count taken away.
void counts_less(const Bins& bins, const double* x, const Sampled& rows, const std::vector<std::size_t>& there,
                 double smoothing, double* found) {
    const std::size_t K = rows.K, S = bins.cuts.size() + 1;
    std::vector<double> total(K, 0.0);
    for (std::size_t b = 0; b < S; ++b)
        for (std::size_t k = 0; k < K; ++k) total[k] += bins.count[b * K + k];
    for (const auto i : there) {
        const std::size_t bin = bins.of(x[i]);
        std::copy_n(bins.log_theta.data() + bin * K, K, found + i * K);
        const auto y = rows.y[i];
        const double own = std::log((bins.count[bin * K + y] - rows.out[i] + smoothing) /
                                    (total[y] - rows.out[i] + static_cast<double>(S) * smoothing));
        found[i * K + y] = std::isnan(own) ? -std::log(static_cast<double>(S)) : own;
    }
}

// Bins whose cuts the row had no say in: searched without a tenth of the values of each class, dealt out in their order.
void bins_without(const Histo& h, const double* x, const Sampled& rows, const std::vector<std::size_t>& there,
                  double smoothing, double folded, double* found) {
    const std::size_t K = rows.K;
    const Sparser all = without_zeros(h.table, h.V, K);
    if (std::accumulate(all.n.begin(), all.n.end(), 0.0) > folded)
        return counts_less(Bins(h.values, h.exact, all, K, smoothing), x, rows, there, smoothing, found);
    std::vector<double> end(all.n.size()), so_far(K + 1, 0.0);  // places of the values, class by class
    for (std::size_t e = 0; e < end.size(); ++e) so_far[all.y[e] + 1] += all.n[e];
    std::partial_sum(so_far.begin(), so_far.end(), so_far.begin());
    for (std::size_t e = 0; e < end.size(); ++e) end[e] = so_far[all.y[e]] += all.n[e];
    std::vector<int> fold(rows.R, -1);
    bool asked[FOLDS] = {};
    for (const auto i : there) {
        std::size_t e = all.first[cell_of(h, x[i])];
        while (all.y[e] != rows.y[i]) ++e;
        fold[i] = static_cast<int>(std::fmod(std::floor(end[e] - all.n[e] + rows.turn[i] * all.n[e]), FOLDS));
        asked[fold[i]] = true;
    }
    for (int f = 0; f < FOLDS; ++f) {
        if (!asked[f]) continue;
        Sparser rest;
        std::vector<double> values;
        rest.first.push_back(0);
        for (std::size_t v = 0; v < h.V; ++v) {
            for (std::size_t e = all.first[v]; e < all.first[v + 1]; ++e) {
                const double left = all.n[e] - (dealt(end[e], f) - dealt(end[e] - all.n[e], f));
                if (left > 0.0) rest.y.push_back(all.y[e]), rest.n.push_back(left);
            }
            if (rest.n.size() > rest.first.back()) values.push_back(h.values[v]), rest.first.push_back(rest.n.size());
        }
        const Bins bins(values.data(), h.exact, rest, K, smoothing);
        for (const auto i : there)
            if (fold[i] == f) std::copy_n(bins.log_theta.data() + bins.of(x[i]) * K, K, found + i * K);
    }
}

// The moments of a column without one row: those of its class, and of all.
struct Without {
    const Moment* m;
    std::size_t K;
    std::vector<Moment> before, after;  // the classes before and after each
    double within = 0.0;

    Without(const Moment* moments, std::size_t classes) : m(moments), K(classes), before(K + 1), after(K + 1) {
        before[0] = after[K] = {0.0, 0.0, 0.0};
        for (std::size_t c = 0; c < K; ++c) before[c + 1] = merged(before[c], m[c]);
        for (std::size_t c = K; c-- > 0;) after[c] = merged(m[c], after[c + 1]);
    }
    Moment own(double x, std::size_t y, double out) const {
        const Moment& all = m[y];
        const double left = all.n - out, gap = x - all.mean;
        if (!(left > 0.0)) return {0.0, 0.0, 0.0};
        return {left, all.mean - gap * out / left, std::max(all.m2 - out * gap * gap * all.n / left, 0.0)};
    }
    Spread spread(const Moment& less, std::size_t y, double floor) const {
        double inside = 0.0;
        for (std::size_t c = 0; c < K; ++c) inside += c == y ? less.m2 : m[c].m2;
        return usual_spread(merged(merged(before[y], less), after[y + 1]), inside, floor);
    }
};

// Each density's ln p becomes ln P(y|x)/P(y), nothing below −worst; and the logarithm of the mean of the three.
void mix(const Sampled& rows, const std::vector<std::size_t>& there, double worst, double* binned, double* kernel,
         double* normal, double* mixed) {
    const std::size_t K = rows.K;
    std::vector<double> e(3 * K), per_share(K);
    const double least = std::exp(-worst);
    for (const auto i : there) {
        const double* share = rows.log_share + i * K;
        for (std::size_t k = 0; k < K; ++k) per_share[k] = std::exp(-share[k]);
        std::size_t m = 0;
        for (double* all : {binned, kernel, normal}) {
            double *log_p = all + i * K, *p = e.data() + m++ * K, top = NEVER, sum = 0.0;
            for (std::size_t k = 0; k < K; ++k) top = std::max(top, log_p[k] + share[k]);
            for (std::size_t k = 0; k < K; ++k) p[k] = top == NEVER ? 0.0 : log_p[k] + share[k] - top;
            exp_all(p, K);
            for (std::size_t k = 0; k < K; ++k) sum += p[k];
            const double total = top + std::log(sum);
            for (std::size_t k = 0; k < K; ++k) {
                log_p[k] = top == NEVER ? 0.0 : std::max(log_p[k] - total, -worst);
                p[k] = top == NEVER ? 1.0 : std::max(p[k] / sum * per_share[k], least);
            }
        }
        for (std::size_t k = 0; k < K; ++k) mixed[i * K + k] = std::log((e[k] + e[K + k] + e[2 * K + k]) / 3.0);
    }
}

}  // namespace

void left_out(const Histo& h, const Moment* moments, const double* x, const Sampled& rows, const Settings& how,
              double folded, double worst, double* parts) {
    const std::size_t K = rows.K, R = rows.R, one = R * K;
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < R; ++i)
        if (!std::isnan(x[i])) there.push_back(i);
    std::fill_n(parts, 5 * one, 0.0);
    if (there.empty() || !h.V) return;
    double *binned = parts, *kernel = parts + one, *normal = parts + 2 * one, *mixed = parts + 3 * one;
    bins_without(h, x, rows, there, how.smoothing, folded, binned);
    Kernels kernels(h, how.floor);
    const double most = h.centres[h.V - 1] + (h.centres[h.V - 1] - h.values[h.V - 1]) + kernels.narrowest();
    kernels.make_pieces(h.values[0], most, 0.1 * ALONE, static_cast<double>(there.size()));
    const Without without(moments, K);
    std::vector<double> log_total(K), log_width(K), log_all(K), near(K), log_variance(K);
    for (std::size_t k = 0; k < K; ++k) {
        log_total[k] = std::log(kernels.classes[k].total);
        log_width[k] = std::log(kernels.classes[k].h) + 0.5 * LOG_2PI;
        log_all[k] = std::log(kernels.classes[k].total + ROWS);
    }
    std::vector<double> variance(K, -1.0);  // of which log_variance is known
    for (const auto i : there) {
        const std::size_t y = rows.y[i];
        const double out = rows.out[i];
        const Moment less = without.own(x[i], y, out);
        const Spread usual = without.spread(less, y, how.floor);
        const Moment& pooled = usual.pooled;
        const double whole = pooled.n > 0.0 ? pooled.m2 / pooled.n : 0.0, wide = std::max(whole, usual.spread);
        const double from = x[i] - pooled.mean;
        const double base = -0.5 * (LOG_2PI + std::log(wide) + from * from / wide) + std::log(ROWS);
        for (std::size_t k = 0; k < K; ++k) near[k] = kernels.log_sum(k, x[i]) + log_total[k];
        const double u = (x[i] - h.centres[cell_of(h, x[i])]) / kernels.classes[y].h;
        const double own = std::exp(std::log(out) - 0.5 * u * u - near[y]);
        near[y] += own < 1.0 - ALONE ? std::log1p(-own) : NEVER;
        for (std::size_t k = 0; k < K; ++k) {
            const double a = near[k] - log_width[k], top = std::max(a, base), low = std::min(a, base) - top;
            kernel[i * K + k] = top + (low > -40.0 ? std::log1p(std::exp(low)) : 0.0) -
                                (k == y ? std::log(less.n + ROWS) : log_all[k]);
            const Moment& m = k == y ? less : moments[k];
            const double gap = x[i] - (m.n > 0.0 ? m.mean : pooled.mean);
            const double least = usual.constant ? usual.spread : usual.spread * (ROWS / (m.n + ROWS));
            const Moment& wider = m.n > 0.0 ? m : pooled;
            double s2 = usual.constant || !(wider.n > how.ddof) ? 0.0 : wider.m2 / (wider.n - how.ddof);
            s2 = std::max(s2, std::max(least, std::numeric_limits<double>::min()));
            if (s2 != variance[k]) variance[k] = s2, log_variance[k] = std::log(s2);
            normal[i * K + k] = -0.5 * (LOG_2PI + log_variance[k] + gap * gap / s2);
        }
    }
    mix(rows, there, worst, binned, kernel, normal, mixed);
}

namespace {

// What a search knows: ln P(y, x) of each row under the choice so far, and the rows' losses.
struct State {
    const Search& s;
    std::size_t size = s.R * s.K;
    std::vector<double> log_joint, now, work, loss;
    double rows = 0.0;

    explicit State(const Search& search) : s(search), log_joint(size), now(s.R), work(size), loss(s.R) {
        for (std::size_t i = 0; i < s.R; ++i) rows += s.weights[i];
    }

    const double* part(std::size_t j, std::size_t m) const { return s.parts + (j * s.M + m) * size; }

    // loss_i = ln Σ_y exp − that of the row's own class, of what `work` holds; `work` becomes exponentials.
    void losses(std::vector<double>& into) {
        const std::size_t K = s.K;
        for (std::size_t i = 0; i < s.R; ++i) {
            double* row = work.data() + i * K;
            double top = NEVER;
            for (std::size_t k = 0; k < K; ++k) top = std::max(top, row[k]);
            into[i] = (top == NEVER ? 0.0 : top) - row[s.y[i]];
            for (std::size_t k = 0; k < K; ++k) row[k] -= top == NEVER ? 0.0 : top;
        }
        exp_all(work.data(), size);
        for (std::size_t i = 0; i < s.R; ++i) {
            double sum = 0.0;
            for (std::size_t k = 0; k < K; ++k) sum += work[i * K + k];
            into[i] = std::min(into[i] + std::log(sum), s.worst);
        }
    }

    // By how much the mean loss falls (below zero), where that is so many standard errors; else infinite.
    double gain(const std::vector<double>& found, const std::vector<double>& before, double errors) const {
        double mean = 0.0, spread = 0.0;
        for (std::size_t i = 0; i < s.R; ++i) mean += (found[i] - before[i]) * (s.weights[i] / rows);
        if (!(mean < 0.0)) return -NEVER;
        for (std::size_t i = 0; i < s.R; ++i) {
            const double gap = found[i] - before[i] - mean;
            spread += gap * gap * (s.weights[i] / rows);
        }
        return mean + errors * std::sqrt(spread / rows) < -LITTLE ? mean : -NEVER;
    }
};

}  // namespace

std::vector<std::int64_t> search(const Search& s) {
    State state(s);
    std::vector<double> whole[2], losses[2] = {std::vector<double>(s.R), std::vector<double>(s.R)};
    for (const int which : {0, 1}) {
        whole[which].assign(s.start, s.start + state.size);
        for (std::size_t j = 0; j < s.d; ++j) {
            const double* part = state.part(j, which ? s.second : s.first);
            for (std::size_t i = 0; i < state.size; ++i) whole[which][i] += part[i];
        }
        state.work = whole[which];
        state.losses(losses[which]);
    }
    const int begin = state.gain(losses[1], losses[0], s.lead) < 0.0;
    std::vector<std::int64_t> chosen(s.d, static_cast<std::int64_t>(begin ? s.second : s.first));
    state.log_joint = whole[begin], state.now = losses[begin];
    std::vector<double> best_loss(s.R);
    for (int round = 0; round < s.rounds; ++round) {
        bool changed = false;
        for (std::size_t j = 0; j < s.d; ++j) {
            const auto is = static_cast<std::size_t>(chosen[j]);
            const double* old = state.part(j, is);
            double best = 0.0;
            std::size_t which = is;
            for (std::size_t m = 0; m < s.M; ++m) {
                if (m == is) continue;
                const double* part = state.part(j, m);
                for (std::size_t i = 0; i < state.size; ++i) state.work[i] = state.log_joint[i] - old[i] + part[i];
                state.losses(state.loss);
                const double gained = state.gain(state.loss, state.now, s.errors[m]);
                if (gained < best) best = gained, which = m, best_loss = state.loss;
            }
            if (which == is) continue;
            const double* part = state.part(j, which);
            for (std::size_t i = 0; i < state.size; ++i) state.log_joint[i] = state.log_joint[i] - old[i] + part[i];
            state.now = best_loss;
            chosen[j] = static_cast<std::int64_t>(which), changed = true;
        }
        if (!changed) break;
    }
    return chosen;
}

}  // namespace posteriori
