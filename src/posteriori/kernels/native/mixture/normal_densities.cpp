#include "normal_densities.hpp"

#include <algorithm>
#include <cmath>

#include "threads.hpp"

namespace posteriori::mixture {
namespace {

constexpr double HALF_LOG_2PI = 0.91893853320467274178;

// ‖Uᵀ (z − μ)‖² of a group of rows.
POSTERIORI_INLINE void quadratic(const double* gap, const double* tile, std::size_t d4, V& q0, V& q1) {
    q0 = q1 = V{};
    for (std::size_t i = 0; i < d4; i += 4) {
        V a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, e0{}, e1{};
        for (std::size_t j = 0; j < i; ++j, tile += 4) {
            const V x = at(gap + j * G), y = at(gap + j * G + W);
            const V ua = all(tile[0]), ub = all(tile[1]), uc = all(tile[2]), ue = all(tile[3]);
            a0 += ua * x, a1 += ua * y;
            b0 += ub * x, b1 += ub * y;
            c0 += uc * x, c1 += uc * y;
            e0 += ue * x, e1 += ue * y;
        }
        const double* g = gap + i * G;
        V x = at(g), y = at(g + W);
        a0 += all(tile[0]) * x, a1 += all(tile[0]) * y;
        b0 += all(tile[1]) * x, b1 += all(tile[1]) * y;
        c0 += all(tile[2]) * x, c1 += all(tile[2]) * y;
        e0 += all(tile[3]) * x, e1 += all(tile[3]) * y;
        x = at(g + G), y = at(g + G + W);
        b0 += all(tile[5]) * x, b1 += all(tile[5]) * y;
        c0 += all(tile[6]) * x, c1 += all(tile[6]) * y;
        e0 += all(tile[7]) * x, e1 += all(tile[7]) * y;
        x = at(g + 2 * G), y = at(g + 2 * G + W);
        c0 += all(tile[10]) * x, c1 += all(tile[10]) * y;
        e0 += all(tile[11]) * x, e1 += all(tile[11]) * y;
        x = at(g + 3 * G), y = at(g + 3 * G + W);
        e0 += all(tile[15]) * x, e1 += all(tile[15]) * y;
        tile += 16;
        q0 += a0 * a0, q1 += a1 * a1;
        q0 += b0 * b0, q1 += b1 * b1;
        q0 += c0 * c0, q1 += c1 * c1;
        q0 += e0 * e0, q1 += e1 * e1;
    }
}

}  // namespace

Plan::Plan(const Components& t) : theta(t), d4((t.d + 3) / 4 * 4), constant(t.K) {
    const std::size_t d = t.d;
    mean.assign(t.K * d4, 0.0);
    for (std::size_t k = 0; k < t.K; ++k) std::copy(t.means + k * d, t.means + (k + 1) * d, &mean[k * d4]);
    if (!t.full) cell.resize(t.K * d);
    for (std::size_t k = 0; k < t.K; ++k) {
        double total = 0.0;
        for (std::size_t j = 0; j < d; ++j) {
            const double root = t.full ? t.factors[(k * d + j) * d + j] : t.factors[k * d + j];
            const double one = std::log(root) + std::log(t.unit[j]) - HALF_LOG_2PI;
            if (!t.full) cell[k * d + j] = one;
            total += one;
        }
        constant[k] = t.log_weights[k] + total;
    }
    if (!t.full) return;
    for (std::size_t i = 0; i < d4; i += 4) tile_size += 4 * (i + 4);
    tiles.assign(t.K * tile_size, 0.0);
    for (std::size_t k = 0; k < t.K; ++k) {
        double* out = &tiles[k * tile_size];
        for (std::size_t i = 0; i < d4; i += 4)
            for (std::size_t j = 0; j < i + 4; ++j, out += 4)
                for (std::size_t c = 0; c < 4; ++c)
                    if (i + c < d && j <= i + c) out[c] = t.factors[(k * d + j) * d + i + c];
    }
}

void full_densities(const Plan& plan, const double* group, double* gap, double* out, std::size_t stride) {
    const std::size_t d4 = plan.d4;
    for (std::size_t k = 0; k < plan.theta.K; ++k) {
        const double* mean = &plan.mean[k * d4];
        for (std::size_t j = 0; j < d4; ++j) {
            put(gap + j * G, at(group + j * G) - mean[j]);
            put(gap + j * G + W, at(group + j * G + W) - mean[j]);
        }
        V q0, q1;
        quadratic(gap, &plan.tiles[k * plan.tile_size], d4, q0, q1);
        put(out + k * stride, plan.constant[k] - 0.5 * q0);
        put(out + k * stride + W, plan.constant[k] - 0.5 * q1);
    }
}

void diagonal_densities(const Plan& plan, bool gaps, const double* group, double* out, std::size_t stride) {
    const std::size_t d = plan.theta.d;
    for (std::size_t k = 0; k < plan.theta.K; ++k) {
        const double *mean = &plan.mean[k * plan.d4], *root = plan.theta.factors + k * d;
        V q0{}, q1{};
        if (!gaps) {
            for (std::size_t j = 0; j < d; ++j) {
                const V x = (at(group + j * G) - mean[j]) * root[j], y = (at(group + j * G + W) - mean[j]) * root[j];
                q0 += x * x, q1 += y * y;
            }
            q0 = plan.constant[k] - 0.5 * q0, q1 = plan.constant[k] - 0.5 * q1;
        } else {
            const double* cell = &plan.cell[k * d];
            q0 = q1 = all(plan.theta.log_weights[k]);
            for (std::size_t j = 0; j < d; ++j) {
                const V z0 = at(group + j * G), z1 = at(group + j * G + W);
                const V x = (z0 - mean[j]) * root[j], y = (z1 - mean[j]) * root[j];
                q0 += z0 == z0 ? cell[j] - 0.5 * (x * x) : V{};
                q1 += z1 == z1 ? cell[j] - 0.5 * (y * y) : V{};
            }
        }
        put(out + k * stride, q0), put(out + k * stride + W, q1);
    }
}

template <typename T> void log_joint(const T* X, std::size_t n, const Components& theta, double* out, int threads) {
    const Plan plan(theta);
    const std::size_t K = theta.K, task = 1024;
    parallel_for((n + task - 1) / task, threads, [&](std::size_t t) {
        std::vector<double> panel(plan.d4 * G), gap(plan.d4 * G), L(K * G);
        for (std::size_t first = t * task; first < std::min(n, (t + 1) * task); first += G) {
            const std::size_t count = std::min(G, n - first);
            read_rows(X, first, count, G, plan, panel.data());
            if (theta.full) full_densities(plan, panel.data(), gap.data(), L.data(), G);
            else diagonal_densities(plan, any_missing(panel.data(), panel.size()), panel.data(), L.data(), G);
            for (std::size_t r = 0; r < count; ++r)
                for (std::size_t k = 0; k < K; ++k) out[(first + r) * K + k] = L[k * G + r];
        }
    });
}

template void log_joint<float>(const float*, std::size_t, const Components&, double*, int);
template void log_joint<double>(const double*, std::size_t, const Components&, double*, int);

}  // namespace posteriori::mixture
