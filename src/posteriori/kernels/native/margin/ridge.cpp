#include "margin/ridge.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "margin/lanes.hpp"

namespace posteriori {

namespace {

constexpr std::size_t MEMORY = 10;          // steps that are remembered
constexpr int TRIES = 20;                   // lengths of one step
constexpr double ENOUGH = 1e-4;             // Armijo's share of what the slope promises
constexpr std::size_t LOOK = std::size_t{1} << 16;  // numbers between two looks at the clock
using Numbers = std::vector<double>;

double dot(const double* a, const double* b, std::size_t n) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> sum[4] = {};
    std::size_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W)
        for (std::size_t u = 0; u < 4; ++u) sum[u] += load(a + i + u * W) * load(b + i + u * W);
    for (; i + W <= n; i += W) sum[0] += load(a + i) * load(b + i);
    const Vec<double> all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double out = 0;
    for (std::size_t u = 0; u < W; ++u) out += all[u];
    for (; i < n; ++i) out += a[i] * b[i];
    return out;
}

constexpr std::size_t R = 4;  // rows that go side by side: weights and slopes are read once for all of them

// out[i] = Σ_j z[i][j] b[j]
void dots(const double* const* z, const double* b, std::size_t n, double* out) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> sum[R] = {}, more[R] = {};
    std::size_t j = 0;
    for (; j + 2 * W <= n; j += 2 * W) {
        const Vec<double> one = load(b + j), two = load(b + j + W);
        for (std::size_t i = 0; i < R; ++i) sum[i] += load(z[i] + j) * one, more[i] += load(z[i] + j + W) * two;
    }
    for (std::size_t i = 0; i < R; ++i) {
        sum[i] += more[i];
        out[i] = 0;
        for (std::size_t u = 0; u < W; ++u) out[i] += sum[i][u];
        for (std::size_t k = j; k < n; ++k) out[i] += z[i][k] * b[k];
    }
}

// to += Σ_i times[i] z[i]
void add_rows(double* to, const double* times, const double* const* z, std::size_t n) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> t[R];
    for (std::size_t i = 0; i < R; ++i) t[i] = spread(times[i]);
    std::size_t j = 0;
    for (; j + W <= n; j += W) {
        Vec<double> sum = load(to + j);
        for (std::size_t i = 0; i < R; ++i) sum += t[i] * load(z[i] + j);
        store(to + j, sum);
    }
    for (; j < n; ++j)
        for (std::size_t i = 0; i < R; ++i) to[j] += times[i] * z[i][j];
}

void add(double* to, double times, const double* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] += times * from[i];
}

// The loss and its slope at B. Scores of R rows lie in eta, class after class.
struct Judge {
    const RidgeTask& task;
    const std::int32_t* rows;
    std::size_t count;
    double whole = 0;
    Watch& watch;
    Numbers eta;

    Judge(const RidgeTask& task, const std::int32_t* rows, std::size_t count, Watch& watch)
        : task(task), rows(rows), count(count), watch(watch), eta(task.C * R) {
        for (std::size_t i = 0; i < count; ++i) whole += task.weights[rows[i]];
    }

    // −ln of the share of each row's own class; scores become what the model expects less what there is.
    void missed(const std::uint32_t* own, double* out) {
        constexpr std::size_t W = WIDTH<double>;
        if (task.C == 1) {
            for (std::size_t i = 0; i < R; ++i) {
                const double t = eta[i], e = std::exp(-std::abs(t)), p = t >= 0 ? 1 / (1 + e) : e / (1 + e);
                eta[i] = p - (own[i] == 1);
                out[i] = std::log1p(e) + std::max(own[i] == 1 ? -t : t, 0.0);
            }
            return;
        }
        for (std::size_t i = 0; i < R; i += W) {
            double* at = eta.data() + i;
            const std::size_t end = task.C * R;
            Vec<double> top = load(at), sum{};
            for (std::size_t c = R; c < end; c += R) top = larger<double>(top, load(at + c));
            for (std::size_t k = 0; k < W; ++k) out[i + k] = top[k] - at[own[i + k] * R + k];
            for (std::size_t c = 0; c < end; c += R) {
                const Vec<double> e = exp_lanes<double, true>(load(at + c) - top);
                store(at + c, e);
                sum += e;
            }
            for (std::size_t c = 0; c < end; c += R) store(at + c, load(at + c) / sum);
            for (std::size_t k = 0; k < W; ++k) {
                out[i + k] += std::log(sum[k]);
                at[own[i + k] * R + k] -= 1;
            }
        }
    }

    double operator()(const double* B, double* slope) {
        const std::size_t f = task.f, C = task.C, w = f + 1;
        std::fill(slope, slope + C * w, 0.0);
        double loss = 0;
        for (std::size_t from = 0, seen = 0; from < count; from += R, seen += R * f * C) {
            if (seen > LOOK) watch(), seen = 0;
            const double* z[R];
            double weight[R];
            std::uint32_t y[R];
            for (std::size_t i = 0; i < R; ++i) {  // the last rows, fewer than R, have others of no weight beside them
                const std::size_t r = static_cast<std::size_t>(rows[std::min(from + i, count - 1)]);
                z[i] = task.points + r * f, y[i] = task.y[r];
                weight[i] = from + i < count ? task.weights[r] / whole : 0.0;
            }
            for (std::size_t c = 0; c < C; ++c) {
                dots(z, B + c * w, f, eta.data() + c * R);
                for (std::size_t i = 0; i < R; ++i) eta[c * R + i] += B[c * w + f] + task.offset[c];
            }
            double lost[R];
            missed(y, lost);
            for (std::size_t i = 0; i < R; ++i) loss += weight[i] * lost[i];
            for (std::size_t c = 0; c < C; ++c)
                for (std::size_t i = 0; i < R; ++i) eta[c * R + i] *= weight[i];
            for (std::size_t c = 0; c < C; ++c) {
                add_rows(slope + c * w, eta.data() + c * R, z, f);
                for (std::size_t i = 0; i < R; ++i) slope[c * w + f] += eta[c * R + i];
            }
        }
        for (std::size_t c = 0; c < C; ++c)
            for (std::size_t j = 0; j < w; ++j) {
                const double b = B[c * w + j], charge = task.charge[j] / whole;
                loss += 0.5 * charge * b * b;
                slope[c * w + j] += charge * b;
            }
        return loss;
    }
};

// L-BFGS: what the last steps told of the curvature, beside the metric.
class Memory {
    const double* metric;
    std::size_t size, first = 0, held = 0;
    Numbers s, q, rho, share;
    double scale = 1;

    const double* of(const Numbers& v, std::size_t i) const { return v.data() + (first + i) % MEMORY * size; }

  public:
    Memory(const double* metric, std::size_t size)
        : metric(metric), size(size), s(MEMORY * size), q(MEMORY * size), rho(MEMORY), share(MEMORY) {}

    // A step from one point to the next, and how the slope changed along it.
    void learn(const double* from, const double* to, const double* slope, const double* then) {
        const std::size_t at = (first + held) % MEMORY;
        double *step = s.data() + at * size, *change = q.data() + at * size, own = 0;
        for (std::size_t j = 0; j < size; ++j) {
            step[j] = to[j] - from[j];
            change[j] = then[j] - slope[j];
            own += change[j] * metric[j] * change[j];
        }
        const double both = dot(step, change, size);
        if (!(both > 0 && own > 0)) return;
        rho[at] = 1 / both, scale = both / own;
        if (held < MEMORY) ++held;
        else first = (first + 1) % MEMORY;
    }

    // −H·slope
    void direct(const double* slope, double* out) {
        for (std::size_t j = 0; j < size; ++j) out[j] = -slope[j];
        for (std::size_t i = held; i-- > 0;) {
            share[i] = rho[(first + i) % MEMORY] * dot(of(s, i), out, size);
            add(out, -share[i], of(q, i), size);
        }
        for (std::size_t j = 0; j < size; ++j) out[j] *= scale * metric[j];
        for (std::size_t i = 0; i < held; ++i)
            add(out, share[i] - rho[(first + i) % MEMORY] * dot(of(q, i), out, size), of(s, i), size);
    }
};

}  // namespace

double ridge_descend(const RidgeTask& task, const std::int32_t* rows, std::size_t count, double* B, Watch& watch) {
    const std::size_t size = task.C * (task.f + 1);
    Judge judge(task, rows, count, watch);
    Memory memory(task.metric, size);
    Numbers slope(size), way(size), there(size), then(size);
    double loss = judge(B, slope.data());
    for (std::size_t step = 0; step < task.steps; ++step) {
        memory.direct(slope.data(), way.data());
        const double promise = dot(slope.data(), way.data(), size);
        if (!(-0.5 * promise > task.tol)) break;
        double t = 1, now = loss;
        int tries = 0;
        for (; tries < TRIES; ++tries) {
            for (std::size_t j = 0; j < size; ++j) there[j] = B[j] + t * way[j];
            now = judge(there.data(), then.data());
            if (now <= loss + ENOUGH * t * promise) break;
            const double foot = -0.5 * promise * t * t / (now - loss - promise * t);  // of the parabola
            t = std::isfinite(foot) ? std::clamp(foot, 0.1 * t, 0.5 * t) : 0.1 * t;
        }
        if (tries == TRIES) break;  // rounding: no step is downhill any more
        memory.learn(B, there.data(), slope.data(), then.data());
        std::copy(there.begin(), there.end(), B);
        slope.swap(then);
        loss = now;
    }
    return loss;
}

}  // namespace posteriori
