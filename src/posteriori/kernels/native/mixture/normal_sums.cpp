// Of a block of rows that stays in the first cache, first the log densities of all components; then the responsibilities;
// then the moments, as symmetric products in tiles of registers, each sum a register of partial sums until the end.
#include "normal_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "normal_densities.hpp"
#include "threads.hpp"

namespace posteriori::mixture {
namespace {

POSTERIORI_INLINE double sum_of(V v) {
    double s = 0.0;
    for (std::size_t i = 0; i < W; ++i) s += v[i];
    return s;
}

// A product of sums of exponentials, whose logarithm is taken once in a while.
struct Likelihood {
    double total = 0.0;
    V product = all(1.0);
    std::size_t held = 0, most;

    explicit Likelihood(std::size_t K) : most(std::max<std::size_t>(1, std::size_t(900.0 / (1.0 + std::log2(double(K)))))) {}

    void close() {
        for (std::size_t i = 0; i < W; ++i) total += std::log(product[i]);
        product = all(1.0);
        held = 0;
    }
    void take(V mass) {
        product *= mass;
        if (++held == most) close();
    }
};

// Log densities of W rows into w · P(k | x); ℓ grows by w · log Σ_k exp.
POSTERIORI_INLINE void responsibilities(double* L, std::size_t K, std::size_t stride, const double* w, std::size_t rows,
                                        Likelihood& sum) {
    const double never = -std::numeric_limits<double>::infinity();
    V top = at(L);
    for (std::size_t k = 1; k < K; ++k) top = larger<double>(at(L + k * stride), top);
    const V shift = top == all(never) ? V{} : top;
    V mass{};
    for (std::size_t k = 0; k < K; ++k) {
        const V e = exp_lanes<double, true>(at(L + k * stride) - shift);
        mass += e;
        put(L + k * stride, e);
    }
    V share;
    if (w == nullptr && rows == W) {
        share = mass > V{} ? 1.0 / mass : V{};
        for (std::size_t i = 0; i < W; ++i) sum.total += top[i];
        sum.take(mass);
    } else {
        for (std::size_t i = 0; i < W; ++i) {
            const double weight = i >= rows ? 0.0 : w ? w[i] : 1.0;
            share[i] = mass[i] > 0.0 ? weight / mass[i] : 0.0;
            if (weight > 0.0) sum.total += weight * (top[i] + std::log(mass[i]));
        }
    }
    for (std::size_t k = 0; k < K; ++k) put(L + k * stride, at(L + k * stride) * share);
}

// Q += H Gᵀ for rows i … i + 3 of H and j … j + J − 1 of G, over the registers of a block; panels are [group][column][row].
template <std::size_t J>
POSTERIORI_INLINE double* off_diagonal(const double* H, const double* D, std::size_t groups, std::size_t step,
                                       double* sum) {
    V acc[4][J];
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < J; ++b) acc[a][b] = at(sum + (a * J + b) * W);
    for (std::size_t g = 0; g < groups; ++g, H += step, D += step)
        for (std::size_t v = 0; v < G; v += W) {
            V y[J];
            for (std::size_t b = 0; b < J; ++b) y[b] = at(D + b * G + v);
            for (std::size_t a = 0; a < 4; ++a) {
                const V x = at(H + a * G + v);
                for (std::size_t b = 0; b < J; ++b) acc[a][b] += x * y[b];
            }
        }
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < J; ++b) put(sum + (a * J + b) * W, acc[a][b]);
    return sum + 4 * J * W;
}

POSTERIORI_INLINE double* on_diagonal(const double* H, const double* D, std::size_t groups, std::size_t step,
                                      double* sum) {
    V acc[10];
    for (std::size_t a = 0; a < 10; ++a) acc[a] = at(sum + a * W);
    for (std::size_t g = 0; g < groups; ++g, H += step, D += step)
        for (std::size_t v = 0; v < G; v += W) {
            const V x0 = at(H + v), x1 = at(H + G + v), x2 = at(H + 2 * G + v), x3 = at(H + 3 * G + v);
            V y = at(D + v);
            acc[0] += x0 * y, acc[1] += x1 * y, acc[2] += x2 * y, acc[3] += x3 * y;
            y = at(D + G + v);
            acc[4] += x1 * y, acc[5] += x2 * y, acc[6] += x3 * y;
            y = at(D + 2 * G + v);
            acc[7] += x2 * y, acc[8] += x3 * y;
            acc[9] += x3 * at(D + 3 * G + v);
        }
    for (std::size_t a = 0; a < 10; ++a) put(sum + a * W, acc[a]);
    return sum + 10 * W;
}

// The sums of one part of the rows; each a register of partial sums.
struct Part {
    std::vector<double> n, first, second;  // (K, W), (K, d4, W), (K, second_size, W)
    double log_likelihood = 0.0;
};

std::size_t second_size(const Plan& plan) { return plan.theta.full ? plan.d4 * (plan.d4 + 1) / 2 : plan.d4; }

struct Block {
    const Plan& plan;
    const double* pivots;  // (K, d4)
    std::vector<double> panel, gap, weighted, R;

    Block(const Plan& plan, const double* pivots, std::size_t rows)
        : plan(plan), pivots(pivots), panel(rows * plan.d4), gap(std::max(rows, G) * plan.d4), weighted(rows * plan.d4),
          R(rows * plan.theta.K) {}

    void full_moments(std::size_t k, const double* r, std::size_t groups, Part& part) {
        const std::size_t d4 = plan.d4, step = d4 * G;
        const double* pivot = pivots + k * d4;
        double* first = &part.first[k * d4 * W];
        V n = at(&part.n[k * W]);
        for (std::size_t g = 0; g < groups; ++g) {
            const V r0 = at(r + g * G), r1 = at(r + g * G + W);
            n += r0 + r1;
            const double* z = &panel[g * step];
            double *D = &gap[g * step], *H = &weighted[g * step];
            for (std::size_t j = 0; j < d4; ++j) {
                const V x = at(z + j * G) - pivot[j], y = at(z + j * G + W) - pivot[j];
                const V hx = r0 * x, hy = r1 * y;
                put(D + j * G, x), put(D + j * G + W, y);
                put(H + j * G, hx), put(H + j * G + W, hy);
                put(first + j * W, at(first + j * W) + (hx + hy));
            }
        }
        put(&part.n[k * W], n);
        double* sum = &part.second[k * second_size(plan) * W];
        for (std::size_t i = 0; i < d4; i += 4) {
            const double* H = &weighted[i * G];
            std::size_t j = 0;
            for (; j + 3 <= i; j += 3) sum = off_diagonal<3>(H, &gap[j * G], groups, step, sum);
            if (i - j == 2) sum = off_diagonal<2>(H, &gap[j * G], groups, step, sum);
            else if (i - j == 1) sum = off_diagonal<1>(H, &gap[j * G], groups, step, sum);
            sum = on_diagonal(H, &gap[i * G], groups, step, sum);
        }
    }

    template <bool gaps> void diagonal_moments(std::size_t k, const double* r, std::size_t groups, Part& part) {
        const std::size_t d = plan.theta.d, d4 = plan.d4, step = d4 * G;
        const double *pivot = pivots + k * d4, *mean = &plan.mean[k * d4], *root = plan.theta.factors + k * d;
        V n = at(&part.n[k * W]);
        for (std::size_t g = 0; g < groups; ++g) n += at(r + g * G) + at(r + g * G + W);
        put(&part.n[k * W], n);
        for (std::size_t j = 0; j < d; ++j) {
            double *first = &part.first[(k * d4 + j) * W], *second = &part.second[(k * d4 + j) * W];
            V s0 = at(first), s1{}, q0 = at(second), q1{};
            const double away = mean[j] - pivot[j], spread_of = away * away + 1.0 / (root[j] * root[j]);
            const double* z = &panel[j * G];
            for (std::size_t g = 0; g < groups; ++g, z += step) {
                const V z0 = at(z), z1 = at(z + W), r0 = at(r + g * G), r1 = at(r + g * G + W);
                V x = z0 - pivot[j], y = z1 - pivot[j];
                if constexpr (gaps) {
                    const V xx = z0 == z0 ? x * x : all(spread_of), yy = z1 == z1 ? y * y : all(spread_of);
                    x = z0 == z0 ? x : all(away), y = z1 == z1 ? y : all(away);
                    s0 += r0 * x, s1 += r1 * y;
                    q0 += r0 * xx, q1 += r1 * yy;
                } else {
                    const V hx = r0 * x, hy = r1 * y;
                    s0 += hx, s1 += hy;
                    q0 += hx * x, q1 += hy * y;
                }
            }
            put(first, s0 + s1), put(second, q0 + q1);
        }
    }
};

// Q of a component out of its tiles.
void unpack(const double* sum, std::size_t d, std::size_t d4, double* Q) {
    auto place = [&](std::size_t i, std::size_t j, double value) {
        if (i < d && j < d) Q[i * d + j] = Q[j * d + i] = value;
    };
    for (std::size_t i = 0; i < d4; i += 4) {
        for (std::size_t j = 0; j < i;) {
            const std::size_t J = std::min<std::size_t>(3, i - j);
            for (std::size_t a = 0; a < 4; ++a)
                for (std::size_t b = 0; b < J; ++b, ++sum) place(i + a, j + b, *sum);
            j += J;
        }
        for (std::size_t b = 0; b < 4; ++b)
            for (std::size_t a = b; a < 4; ++a, ++sum) place(i + a, i + b, *sum);
    }
}

std::size_t block_rows(const Plan& plan) {
    const std::size_t fit = 1024 / plan.d4 / G * G;  // two panels of them fill half of the first cache
    return std::clamp<std::size_t>(fit, plan.theta.full ? 32 : 64, 128);
}

}  // namespace

template <typename T>
double sums(const T* X, std::size_t n, const double* weights, const Components& theta, const double* pivots,
            const double* shares, double* N, double* S, double* Q, int threads) {
    const Plan plan(theta);
    const std::size_t K = theta.K, d = theta.d, d4 = plan.d4, size = second_size(plan), B = block_rows(plan);
    std::vector<double> pivot(K * d4, 0.0);
    for (std::size_t k = 0; k < K; ++k) std::copy(pivots + k * d, pivots + (k + 1) * d, &pivot[k * d4]);
    // parts by the shapes alone: as many as keep threads busy, as few as memory wants
    const std::size_t bytes = K * (1 + d4 + size) * 8, blocks = (n + B - 1) / B;
    const std::size_t most = std::clamp<std::size_t>((std::size_t(64) << 20) / bytes, 8, 64);
    const std::size_t each = std::max<std::size_t>((blocks + most - 1) / most, std::min<std::size_t>(blocks, 1024 / B + 1));
    const std::size_t parts = blocks ? (blocks + each - 1) / each : 0;
    std::vector<Part> found(parts);
    parallel_for(parts, threads, [&](std::size_t t) {
        Part part;
        part.n.assign(K * W, 0.0), part.first.assign(K * d4 * W, 0.0), part.second.assign(K * size * W, 0.0);
        Block block(plan, pivot.data(), B);
        Likelihood likelihood(K);
        for (std::size_t b = t * each; b < std::min(blocks, (t + 1) * each); ++b) {
            const std::size_t first = b * B, count = std::min(B, n - first), groups = (count + G - 1) / G, rows = groups * G;
            read_rows(X, first, count, rows, plan, block.panel.data());
            const bool gaps = !theta.full && any_missing(block.panel.data(), rows * d4);
            for (std::size_t g = 0; g < groups; ++g) {
                double* L = &block.R[g * G];
                const double* z = &block.panel[g * d4 * G];
                if (shares) {
                    for (std::size_t r = 0; r < G; ++r) {
                        const std::size_t row = g * G + r;
                        const double w = row >= count ? 0.0 : weights ? weights[first + row] : 1.0;
                        for (std::size_t k = 0; k < K; ++k)
                            L[k * B + r] = row < count ? w * shares[(first + row) * K + k] : 0.0;
                    }
                    continue;
                }
                if (theta.full) full_densities(plan, z, block.gap.data(), L, B);
                else diagonal_densities(plan, gaps, z, L, B);
                for (std::size_t v = 0; v < G; v += W) {
                    const std::size_t row = g * G + v, left = count > row ? std::min(W, count - row) : 0;
                    responsibilities(L + v, K, B, weights ? weights + first + row : nullptr, left, likelihood);
                }
            }
            for (std::size_t k = 0; k < K; ++k) {
                const double* r = &block.R[k * B];
                if (theta.full) block.full_moments(k, r, groups, part);
                else if (gaps) block.diagonal_moments<true>(k, r, groups, part);
                else block.diagonal_moments<false>(k, r, groups, part);
            }
        }
        likelihood.close();
        Part& out = found[t];
        out.log_likelihood = likelihood.total;
        auto narrow = [](const std::vector<double>& wide) {
            std::vector<double> sums(wide.size() / W);
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_of(at(&wide[i * W]));
            return sums;
        };
        out.n = narrow(part.n), out.first = narrow(part.first), out.second = narrow(part.second);
    });
    Part whole;
    whole.n.assign(K, 0.0), whole.first.assign(K * d4, 0.0), whole.second.assign(K * size, 0.0);
    auto add = [](std::vector<double>& a, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    };
    for (const Part& part : found) {
        whole.log_likelihood += part.log_likelihood;
        add(whole.n, part.n), add(whole.first, part.first), add(whole.second, part.second);
    }
    std::copy(whole.n.begin(), whole.n.end(), N);
    for (std::size_t k = 0; k < K; ++k) {
        std::copy(&whole.first[k * d4], &whole.first[k * d4] + d, S + k * d);
        if (theta.full) unpack(&whole.second[k * size], d, d4, Q + k * d * d);
        else std::copy(&whole.second[k * size], &whole.second[k * size] + d, Q + k * d);
    }
    return shares ? 0.0 : whole.log_likelihood;
}

template double sums<float>(const float*, std::size_t, const double*, const Components&, const double*, const double*,
                            double*, double*, double*, int);
template double sums<double>(const double*, std::size_t, const double*, const Components&, const double*, const double*,
                             double*, double*, double*, int);

}  // namespace posteriori::mixture
