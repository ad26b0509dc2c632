// I(X;Y) in nats of class densities on the line, by a sum over points x_i that lie where the densities do.
//
// a[i, y] = P(y) p(x_i|y) Δ_i with Δ_i the weight of a point, A their sum:
//     I = Σ a[i, y] ln(a[i, y]/a[i]) / A − Σ_y (a[y]/A) ln(a[y]/A)
// The first logarithm is known but for ln a[i]: one logarithm a point, and K exponentials.
#include <algorithm>
#include <cmath>
#include <limits>

#include "densities.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t BLOCK = 256;  // points at a time

class Sums {
  public:
    Sums(const double* prior, std::size_t K_) : K(K_), of(K, Doubles{}), p(K * BLOCK) {
        for (std::size_t k = 0; k < K; ++k) log_prior.push_back(std::log(prior[k]));
    }

    // log_p is (K, BLOCK), overwritten; `width` is Δ, 0 beyond the points there are.
    void add(double* log_p, const double* width) {
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t i = 0; i < BLOCK; i += 4) {
                double* s = log_p + k * BLOCK + i;
                const Doubles joint = load4(s) + log_prior[k], least = all4(-745.0);  // whose exponential is nothing
                store4(s, joint > least ? joint : least);
            }
        std::copy_n(log_p, K * BLOCK, p.data());
        exp_all(p.data(), K * BLOCK);
        alignas(32) double all[BLOCK] = {};
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t i = 0; i < BLOCK; i += 4) store4(all + i, load4(all + i) + load4(&p[k * BLOCK + i]));
        for (double& a : all) a = std::max(a, std::numeric_limits<double>::min());
        log_all(all, BLOCK);
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t i = 0; i < BLOCK; i += 4) {
                const Doubles a = load4(&p[k * BLOCK + i]) * load4(width + i);
                of[k] += a;
                joint += a * (load4(log_p + k * BLOCK + i) - load4(all + i));
            }
    }

    double information() const {
        double A = 0.0;
        for (const Doubles& a : of) A += total(a);
        if (!(A > 0.0)) return 0.0;
        double found = total(joint) / A;
        for (const Doubles& a : of)
            if (total(a) > 0.0) found -= total(a) / A * std::log(total(a) / A);
        return std::max(found, 0.0);
    }

  private:
    static double total(Doubles a) { return (a[0] + a[1]) + (a[2] + a[3]); }
    const std::size_t K;
    std::vector<double> log_prior;
    std::vector<Doubles> of;  // Σ_i a[i, y]
    Doubles joint{};
    std::vector<double> p;
};

// The sum over points of weights Δ; fill(x, count, log_p) writes ln p(x|y) of a block.
template <typename Fill>
double sum_over(const std::vector<double>& points, const std::vector<double>& weights, const double* prior, std::size_t K, Fill&& fill) {
    const std::size_t n = points.size();
    if (n < 2) return 0.0;
    Sums sums(prior, K);
    std::vector<double> log_p(K * BLOCK);
    for (std::size_t from = 0; from < n; from += BLOCK) {
        const std::size_t count = std::min(BLOCK, n - from);
        double width[BLOCK] = {};
        std::copy_n(weights.data() + from, count, width);
        std::fill(log_p.begin(), log_p.end(), 0.0);
        fill(points.data() + from, count, log_p.data());
        sums.add(log_p.data(), width);
    }
    return sums.information();
}

// Δ_i = (x_{i+1} − x_{i−1})/2
void trapezoids(const std::vector<double>& x, std::vector<double>& width) {
    const std::size_t n = x.size();
    width.resize(n);
    for (std::size_t i = 0; i < n; ++i) width[i] = n < 2 ? 0.0 : i == 0 ? x[1] - x[0] : i + 1 == n ? x[n - 1] - x[n - 2] : (x[i + 1] - x[i - 1]) / 2;
}

// Two rising sequences as one; what is equal stands once. No branch depends on the numbers; every turn takes one at least,
// also of what is no number.
double* merge(const double* a, const double* a_end, const double* b, const double* b_end, double* out) {
    while (a < a_end && b < b_end) {
        const double x = *a, y = *b;
        *out++ = x < y ? x : y;
        a += !(y < x);
        b += !(x < y);
    }
    return std::copy(b, b_end, std::copy(a, a_end, out));
}

// Normal class densities, column by column. Points in even steps of an eighth of the least σ over all μ ± 8σ: of what is
// smooth such a sum has all digits. Where the classes are too unlike for that, the points μ ± 8σ of each in steps of its own.
class Bells {
  public:
    Bells(const double* prior_, std::size_t K_) : prior(prior_), K(K_), top(K) {
        const std::size_t count = std::max<std::size_t>(33, std::min<std::size_t>(801, 8000 / K));
        for (std::size_t i = 0; i < count; ++i)
            steps.push_back(-8.0 + 16.0 * static_cast<double>(i) / static_cast<double>(count - 1));
    }

    double information(const double* mean, const double* variance, std::size_t d) {
        find_points(mean, variance, d);
        for (std::size_t k = 0; k < K; ++k) top[k] = -0.5 * std::log(2.0 * std::acos(-1.0) * variance[k * d]);
        trapezoids(points, widths);
        return sum_over(points, widths, prior, K, [&](const double* x, std::size_t count, double* log_p) {
            for (std::size_t k = 0; k < K; ++k) {
                const double middle = mean[k * d], scale = -0.5 / variance[k * d];
                for (std::size_t i = 0; i < count; ++i) {
                    const double gap = x[i] - middle;
                    log_p[k * BLOCK + i] = top[k] + gap * gap * scale;
                }
            }
        });
    }

  private:
    void find_points(const double* mean, const double* variance, std::size_t d) {
        const std::size_t count = steps.size();
        constexpr double infinite = std::numeric_limits<double>::infinity();
        double low = infinite, high = -infinite, least = infinite;
        for (std::size_t k = 0; k < K; ++k) {
            const double sd = std::sqrt(variance[k * d]);
            low = std::min(low, mean[k * d] - 8 * sd), high = std::max(high, mean[k * d] + 8 * sd), least = std::min(least, sd);
        }
        const double wanted = 8 * (high - low) / least;
        if (wanted < static_cast<double>(K * count) / 2) {
            points.resize(static_cast<std::size_t>(wanted) + 2);
            const double step = (high - low) / static_cast<double>(points.size() - 1);
            for (std::size_t i = 0; i < points.size(); ++i) points[i] = low + step * static_cast<double>(i);
            return;
        }
        points.resize(K * count), room.resize(K * count), ends.assign(1, 0);
        for (std::size_t k = 0; k < K; ++k) {
            const double middle = mean[k * d], sd = std::sqrt(variance[k * d]);
            double* own = points.data() + ends.back();
            for (std::size_t i = 0; i < count; ++i) own[i] = middle + sd * steps[i];
            ends.push_back(static_cast<std::size_t>(std::unique(own, own + count) - points.data()));
        }
        while (ends.size() > 2) {  // neighbours in pairs
            std::vector<std::size_t> joined(1, 0);
            for (std::size_t k = 0; k + 1 < ends.size(); k += 2) {
                const double *a = points.data() + ends[k], *b = points.data() + ends[k + 1];
                const double* end = points.data() + ends[std::min(k + 2, ends.size() - 1)];
                joined.push_back(static_cast<std::size_t>(merge(a, b, b, end, room.data() + joined.back()) - room.data()));
            }
            ends.swap(joined), points.swap(room);
        }
        points.resize(ends.back());
    }

    const double* prior;
    const std::size_t K;
    std::vector<double> steps, points, widths, room, top;
    std::vector<std::size_t> ends;
};

// Bins hold counts: those say how the classes are shared, whatever the prior.
double of_bins(const Bins& bins, std::size_t K) {
    std::vector<double> by_class(K, 0.0);
    double A = 0.0, found = 0.0;
    auto times_log = [](double a) { return a > 0.0 ? a * std::log(a) : 0.0; };
    for (std::size_t i = 0; i < bins.count.size(); ++i) by_class[i % K] += bins.count[i], A += bins.count[i];
    if (!(A > 0.0)) return 0.0;
    for (std::size_t b = 0; b < bins.count.size(); b += K) {
        double all = 0.0;
        for (std::size_t k = 0; k < K; ++k) all += bins.count[b + k] / A, found += times_log(bins.count[b + k] / A);
        found -= times_log(all);
    }
    for (const double a : by_class) found -= times_log(a / A);
    return std::max(found, 0.0);
}

}  // namespace

void normal_information(const double* mean, const double* variance, std::size_t d, const double* prior, std::size_t K,
                        double* out, int threads) {
    constexpr std::size_t SHARE = 16;  // columns of a task
    parallel_for((d + SHARE - 1) / SHARE, threads, [&](std::size_t t) {
        Bells bells(prior, K);
        for (std::size_t j = t * SHARE; j < std::min(d, (t + 1) * SHARE); ++j)
            out[j] = bells.information(mean + j, variance + j, d);
    });
}

namespace {

// Rising runs, one after the other, each up to its end: afterwards one run without repeats.
void merge_runs(std::vector<double>& points, std::vector<std::size_t>& ends) {
    std::vector<double> merged(points.size());
    std::vector<std::size_t> fewer;
    while (ends.size() > 1) {
        fewer.clear();
        double* out = merged.data();
        const double* from = points.data();
        for (std::size_t r = 0; r < ends.size(); r += 2) {
            const double* middle = points.data() + ends[r];
            const double* end = points.data() + ends[std::min(r + 1, ends.size() - 1)];
            out = merge(from, middle, middle, end, out);
            from = end;
            fewer.push_back(static_cast<std::size_t>(out - merged.data()));
        }
        points.swap(merged);
        ends.swap(fewer);
    }
    points.erase(std::unique(points.begin(), points.begin() + (ends.empty() ? 0 : ends[0])), points.end());
}

}  // namespace

namespace {

// Where kernels narrow and wide live: rising ends of intervals over which they are smooth, a kernel's width apart or, beyond
// all centres, in wider steps. Centres too far apart for even steps have ends around themselves, and the normal of all
// rows, which has a share in every class, has its own.
std::vector<double> smooth_parts(const Kernels& kernels) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const auto& c : kernels.classes) least = std::min(least, c.v.front()), most = std::max(most, c.v.back());
    const double narrow = kernels.narrowest(), wide = std::max(kernels.widest(), std::sqrt(kernels.variance));
    const double low = least - 3.0 * narrow, high = most + 3.0 * narrow;
    constexpr double STEP = 1.5;
    constexpr std::size_t MOST = 256, SOME = 4096;
    std::vector<double> ends;
    if ((high - low) / narrow < STEP * MOST) {
        ends = even_ends(low, high, STEP * narrow, MOST);
    } else {
        std::vector<double> values, around;
        std::vector<std::size_t> runs;
        for (const auto& c : kernels.classes) values.insert(values.end(), c.v.begin(), c.v.end()), runs.push_back(values.size());
        merge_runs(values, runs);
        const std::size_t last = values.size() - 1, some = std::min(values.size(), SOME);
        runs.clear();
        for (const auto& c : kernels.classes)
            for (int step = -4; step <= 4; ++step) {
                for (std::size_t i = 0; i < some; ++i) around.push_back(values[some > 1 ? i * last / (some - 1) : 0] + c.h * step);
                runs.push_back(around.size());
            }
        merge_runs(around, runs);
        for (const double x : around)
            if (ends.empty() || x - ends.back() >= 0.5 * STEP * narrow) ends.push_back(x);
        for (int step = -5; step <= 5; ++step) ends.push_back(kernels.mean + std::sqrt(kernels.variance) * step);
    }
    for (double far = STEP * narrow; std::isfinite(far) && far < 10.0 * wide; far = 2.0 * far + STEP * narrow)  // each twice as wide
        ends.insert(ends.end(), {low - far, high + far});
    return ends;
}

// Gauss and Legendre's four points on [−1, 1], and their weights
constexpr double NODE[] = {-0.86113631159405258, -0.33998104358485626, 0.33998104358485626, 0.86113631159405258};
constexpr double WEIGHT[] = {0.34785484513745386, 0.65214515486254614, 0.65214515486254614, 0.34785484513745386};

}  // namespace

double Curve::information(const double* prior) const {
    if (shape_ == Shape::none) return 0.0;
    if (shape_ == Shape::binned) return of_bins(bins_, K_);
    std::vector<double> ends = smooth_parts(kernels_), points, widths;
    ends.insert(ends.end(), bins_.cuts.begin(), bins_.cuts.end());  // at a cut a mixture leaps
    ends.erase(std::remove_if(ends.begin(), ends.end(), [](double end) { return !std::isfinite(end); }), ends.end());
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 1; i < ends.size(); ++i) {
        const double half = ends[i] / 2 - ends[i - 1] / 2;
        if (!(half > 0.0)) continue;
        for (std::size_t k = 0; k < 4; ++k) points.push_back(ends[i - 1] + half + NODE[k] * half), widths.push_back(WEIGHT[k] * half);
    }
    std::vector<double> rows(BLOCK * rounded_up(K_));
    return sum_over(points, widths, prior, K_, [&](const double* x, std::size_t count, double* log_p) {
        int seen = CLEAN;
        std::fill(rows.begin(), rows.end(), 0.0);
        add(x, 1, count, rows.data(), &seen);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t k = 0; k < K_; ++k) log_p[k * BLOCK + i] = rows[i * rounded_up(K_) + k];
    });
}

}  // namespace posteriori
