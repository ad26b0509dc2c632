// The densities of one numeric column as densities/numeric.py, gaussian.py and mixed.py define them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "densities.hpp"
#include "vec_math.hpp"

namespace posteriori {
namespace {

constexpr std::size_t BATCH = Pieces::BATCH;
constexpr double ROWS = 1.0, ROUNDING = 1e-14, LEAST = 1e-290, TINY = std::numeric_limits<double>::min(), NEVER = -std::numeric_limits<double>::infinity();
constexpr double SHARES = 1e-9;  // by which a sum of shares may be off, in whichever order rows came
const double LOG_2PI = std::log(2.0 * std::acos(-1.0));

inline Doubles greater(Doubles a, Doubles b) { return a > b ? a : b; }
inline Doubles lesser(Doubles a, Doubles b) { return a < b ? a : b; }

// ln(exp a + exp b); −∞ where both are.
inline Doubles log_of_both(Doubles a, Doubles b) {
    const Doubles top = greater(a, b);
    Doubles gap = lesser(a, b) - top;
    gap = gap > all4(-746.0) ? gap : all4(-746.0);  // also where both are −∞
    exp4<1>(&gap);
    return top + log4(gap + 1.0);
}

double variance_of(const Moment& m, double ddof) { return m.n > ddof ? m.m2 / (m.n - ddof) : 0.0; }

}  // namespace

Moment merged(const Moment& a, const Moment& b) {
    const double n = a.n + b.n, share = n > 0.0 ? b.n / n : 0.0, gap = b.mean - a.mean;
    return {n, a.mean + gap * share, a.m2 + b.m2 + gap * gap * (a.n * share)};
}

// s² of a column, the variance within the classes (`within` is their M2), and the share `floor` of the whole.
Spread usual_spread(const Moment& pooled, double within, double floor) {
    const double whole = variance_of(pooled, 0.0);
    within = std::min(within / std::max(pooled.n, TINY), whole);
    const double rounding = ROUNDING * pooled.mean;
    const bool constant = whole <= std::max(rounding * rounding, LEAST);
    const double size = std::max(pooled.mean * pooled.mean, 1.0);
    const double flat = (floor > 0.0 ? floor : 1.0) * size;
    return {pooled, constant ? flat : within, constant ? flat : floor * whole, constant};
}

double Spread::variance_of(const Moment& m, double rows, double ddof, double smoothing) const {
    const double own = posteriori::variance_of(m, ddof), rounding = ROUNDING * m.mean;
    const double borrowed = smoothing > 0.0 ? spread * (smoothing / (rows + smoothing)) : 0.0;
    const bool alike = constant || own <= std::max(rounding * rounding, LEAST);
    return std::max(alike ? least : own, std::max(borrowed, TINY));
}

Normals::Normals(const Moment* m, std::size_t K, double floor, double ddof, double smoothing) : mean(K), variance(K) {
    Moment pooled{0.0, 0.0, 0.0};
    double within = 0.0;
    for (std::size_t c = 0; c < K; ++c) pooled = merged(pooled, m[c]), within += m[c].m2;
    const Spread usual = usual_spread(pooled, within, floor);
    for (std::size_t c = 0; c < K; ++c) {
        const Moment& own = m[c].n > 0.0 ? m[c] : pooled;
        mean[c] = own.mean, variance[c] = usual.variance_of(own, m[c].n, ddof, smoothing);
    }
}

void Normals::log_density(double x, double* out) const {
    for (std::size_t c = 0; c < mean.size(); ++c) {
        const double gap = x - mean[c];
        out[c] = -0.5 * (LOG_2PI + std::log(variance[c]) + gap * gap / variance[c]);
    }
}

void Normals::log_densities(const double* x, double* out) const {
    for (std::size_t c = 0; c < mean.size(); ++c) {
        const double first = LOG_2PI + std::log(variance[c]);
        for (std::size_t i = 0; i < BATCH; i += 4) {
            const Doubles gap = load4(x + i) - mean[c];
            store4(out + c * BATCH + i, -0.5 * (gap * gap / variance[c] + first));
        }
    }
}

Bins::Bins(const double* values, bool exact, const Sparser& N, std::size_t K, double smoothing) {
    const std::vector<std::size_t> at = mdl_cuts(N, K);
    bool fits = true;
    for (const auto v : at) fits = fits && std::isfinite(values[v] - values[v - 1]);
    for (const auto v : at) {
        const double low = values[v - 1], high = values[v];
        const double middle = fits ? low + (high - low) / 2 : low / 2 + high / 2;
        cuts.push_back(exact && middle > low ? middle : high);
    }
    const std::size_t S = at.size() + 1;
    count.assign(S * K, 0.0), log_theta.resize(S * K);
    for (std::size_t v = 0, bin = 0; v < N.cells(); ++v) {
        while (bin < at.size() && v >= at[bin]) ++bin;
        for (std::size_t e = N.first[v]; e < N.first[v + 1]; ++e) count[bin * K + N.y[e]] += N.n[e];
    }
    for (std::size_t k = 0; k < K; ++k) {
        double total = static_cast<double>(S) * smoothing;
        for (std::size_t b = 0; b < S; ++b) total += count[b * K + k];
        for (std::size_t b = 0; b < S; ++b)
            log_theta[b * K + k] =
                std::log(total > 0.0 ? (count[b * K + k] + smoothing) / total : 1.0 / static_cast<double>(S));
    }
}

std::size_t Bins::of(double x) const {
    return static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), x) - cuts.begin());
}

// Where the shares w of rising values reach q: a value, or the middle of two where the first of them reaches it just so.
static double quantile(const std::vector<double>& v, const std::vector<double>& w, double q) {
    double reach = 0.0;
    std::size_t i = 0;
    while (i + 1 < v.size() && (reach += w[i]) < q - SHARES) ++i;
    const double low = v[i];
    for (; i + 1 < v.size() && reach < q + SHARES; reach += w[i]) ++i;
    return low / 2 + v[i] / 2;
}

Kernels::Kernels(const Histo& h, double floor) {
    if (!h.V) return;
    const std::size_t K = h.K;
    classes.resize(K);
    std::vector<Moment> moments(K);
    for (std::size_t c = 0; c < K; ++c) {
        Class& own = classes[c];
        for (const bool all : {false, true}) {  // a class with no cell: the column over all classes
            own.total = 0.0;
            for (std::size_t v = 0; v < h.V; ++v) {
                double n = h.table[v * K + c];
                if (all)
                    for (std::size_t k = n = 0; k < K; ++k) n += h.table[v * K + k];
                if (n > 0.0) own.v.push_back(h.centres[v]), own.w.push_back(n), own.total += n;
            }
            if (own.total > 0.0) break;
        }
        double mean = 0.0, spread = 0.0;
        for (auto& w : own.w) w /= own.total;
        for (std::size_t i = 0; i < own.v.size(); ++i) mean += own.v[i] * own.w[i];
        for (std::size_t i = 0; i < own.v.size(); ++i) spread += (own.v[i] - mean) * (own.v[i] - mean) * own.w[i];
        moments[c] = {own.total, mean, own.total * spread};
    }
    Moment pooled{0.0, 0.0, 0.0};
    double within = 0.0;
    for (const auto& m : moments) pooled = merged(pooled, m), within += m.m2;
    const Spread usual = usual_spread(pooled, within, floor);
    const double lent = usual.spread + usual.least - floor * usual.spread;  // s², with a share of what parts the classes
    mean = pooled.mean, variance = std::max(variance_of(pooled, 0.0), usual.spread);
    for (std::size_t c = 0; c < K; ++c) {
        Class& own = classes[c];
        double squares = 0.0;
        for (const double w : own.w) squares += w * w;
        const double n = 1.0 / squares;
        const double s2 = std::max(variance_of(moments[c], 0.0), std::max(lent * (ROWS / (own.total + ROWS)), TINY));
        const double quarters = (quantile(own.v, own.w, 0.75) - quantile(own.v, own.w, 0.25)) / 1.34;
        const double spread = std::min(s2, (n * quarters * quarters + ROWS * s2) / (n + ROWS));
        own.h = usual.constant ? std::sqrt(variance) : std::max(0.9 * std::sqrt(spread) * std::pow(n, -0.2), 1e-150);
        const double share = ROWS / (own.total + ROWS);
        own.log_near = std::log1p(-share) - std::log(own.h) - 0.5 * LOG_2PI, own.log_far = std::log(share);
        own.tree.resize(((std::size_t{2} << kernel_levels(own.v.size())) - 1) * KERNEL_ROW);
        kernel_tree(own.v.data(), own.w.data(), own.v.size(), own.h, own.tree.data(), 1);
    }
}

double Kernels::log_sum(std::size_t c, double x) const {
    const Class& own = classes[c];
    double found[4] = {};
    if (own.sums.add(own.sums.find(x), x, found)) return found[0];
    return kernel_sum(x, own.v.data(), own.w.data(), own.v.size(), own.h, own.tree.data());
}

void Kernels::log_sums(std::size_t c, const double* x, double* out) const {
    const Class& own = classes[c];
    if (own.sums.together(x, out)) return;
    bool known[BATCH], all = true;
    for (std::size_t i = 0; i < BATCH; ++i) {
        double found[4] = {};
        known[i] = own.sums.add(own.sums.find(x[i]), x[i], found);
        out[i] = found[0], all = all && known[i];
    }
    if (all) return;
    double rest[BATCH];
    kernel_sums_together(x, own.v.data(), own.w.data(), own.v.size(), own.h, own.tree.data(), rest);
    for (std::size_t i = 0; i < BATCH; ++i) out[i] = known[i] ? out[i] : rest[i];
}

double Kernels::narrowest() const {
    double least = classes[0].h;
    for (const auto& c : classes) least = std::min(least, c.h);
    return least;
}

double Kernels::widest() const {
    double most = 0.0;
    for (const auto& c : classes) most = std::max(most, c.h);
    return most;
}

void Kernels::log_density(double x, double* out) const {
    const double gap = x - mean, base = -0.5 * (LOG_2PI + std::log(variance) + gap * gap / variance);
    for (std::size_t c = 0; c < classes.size(); ++c) {
        const double near = log_sum(c, x) + classes[c].log_near, far = base + classes[c].log_far;
        const double top = std::max(near, far);
        out[c] = top == NEVER ? NEVER : top + std::log1p(std::exp(std::min(near, far) - top));
    }
}

void Kernels::log_densities(const double* x, double* out) const {
    Doubles base[BATCH / 4];
    for (std::size_t i = 0; i < BATCH; i += 4) {
        const Doubles gap = load4(x + i) - mean;
        base[i / 4] = -0.5 * (gap * gap / variance + (LOG_2PI + std::log(variance)));
    }
    for (std::size_t c = 0; c < classes.size(); ++c) {
        double* own = out + c * BATCH;
        log_sums(c, x, own);
        for (std::size_t i = 0; i < BATCH; i += 4)
            store4(own + i, log_of_both(load4(own + i) + classes[c].log_near, base[i / 4] + classes[c].log_far));
    }
}

double odds(double* log_p, const double* log_share, std::size_t K) {
    double top = NEVER, sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) top = std::max(top, log_p[k] + log_share[k]);
    if (top == NEVER) {
        std::fill_n(log_p, K, 0.0);
        return NEVER;
    }
    for (std::size_t k = 0; k < K; ++k) sum += std::exp(log_p[k] + log_share[k] - top);
    const double total = top + std::log(sum);
    for (std::size_t k = 0; k < K; ++k) log_p[k] -= total;
    return total;
}

void mixture(const double* a, const double* b, const double* c, std::size_t K, double* out) {
    for (std::size_t k = 0; k < K; ++k) {
        const double top = std::max(a[k], std::max(b[k], c[k]));
        out[k] = top == NEVER ? NEVER
                              : top + std::log((std::exp(a[k] - top) + std::exp(b[k] - top) + std::exp(c[k] - top)) / 3.0);
    }
}

void odds_of_many(double* log_p, const double* log_share, std::size_t K, double* total) {
    for (std::size_t i = 0; i < BATCH; i += 4) {
        Doubles top = all4(NEVER), sum{};
        for (std::size_t k = 0; k < K; ++k) top = greater(load4(log_p + k * BATCH + i) + log_share[k], top);
        const Doubles shift = top > all4(NEVER) ? top : Doubles{};
        for (std::size_t k = 0; k < K; ++k) {
            Doubles e = load4(log_p + k * BATCH + i) + log_share[k] - shift;
            exp4<1>(&e);
            sum += e;
        }
        const Doubles all = top > all4(NEVER) ? top + log4(greater(sum, all4(TINY))) : top;
        for (std::size_t k = 0; k < K; ++k)
            store4(log_p + k * BATCH + i, all > all4(NEVER) ? load4(log_p + k * BATCH + i) - all : Doubles{});
        store4(total + i, all);
    }
}

void mixture_of_many(const double* a, const double* b, const double* c, std::size_t K, const double* log_p, double* out) {
    for (std::size_t at = 0; at < K * BATCH; at += 4) {
        const Doubles top = greater(load4(a + at), greater(load4(b + at), load4(c + at)));
        const Doubles shift = top > all4(NEVER) ? top : Doubles{};
        Doubles e[3] = {load4(a + at) - shift, load4(b + at) - shift, load4(c + at) - shift};
        exp4<3>(e);
        const Doubles mean = greater((e[0] + e[1] + e[2]) / 3.0, all4(TINY));
        store4(out + at, (top > all4(NEVER) ? shift + log4(mean) : top) + load4(log_p + at % BATCH));
    }
}

}  // namespace posteriori
