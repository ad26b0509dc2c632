// For each pattern of missing cells and each component, once: Σ_oo = L Lᵀ, V = L⁻¹ Σ_om and C = Σ_mm − Vᵀ V, o the cells that
// are there and m those that are not. For each row then y = L⁻¹ (z_o − μ_o), and what is missing is expected at μ_m + Vᵀ y.
#include "missing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "threads.hpp"

namespace posteriori::mixture {
namespace {

constexpr double HALF_LOG_2PI = 0.91893853320467274178;

struct Shape {
    std::vector<std::size_t> has, lacks;

    Shape(const double* row, std::size_t d) {
        for (std::size_t j = 0; j < d; ++j) (row[j] == row[j] ? has : lacks).push_back(j);
    }
};

// One component as a pattern sees it.
struct Seen {
    std::vector<double> L, V, C;  // (o, o), (o, m), (m, m)
    double constant = 0.0;

    void look(const Normals& theta, std::size_t k, std::size_t d, const Shape& shape) {
        const double* sigma = theta.covariances + k * d * d;
        const std::size_t o = shape.has.size(), m = shape.lacks.size();
        L.assign(o * o, 0.0), V.assign(o * m, 0.0), C.assign(m * m, 0.0);
        constant = theta.log_weights[k];
        for (std::size_t i = 0; i < o; ++i) {
            const double* row = sigma + shape.has[i] * d;
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = row[shape.has[j]];
                for (std::size_t c = 0; c < j; ++c) sum -= L[i * o + c] * L[j * o + c];
                L[i * o + j] = i == j ? std::sqrt(sum) : sum / L[j * o + j];
            }
            for (std::size_t b = 0; b < m; ++b) V[i * m + b] = row[shape.lacks[b]];
            for (std::size_t c = 0; c < i; ++c)
                for (std::size_t b = 0; b < m; ++b) V[i * m + b] -= L[i * o + c] * V[c * m + b];
            for (std::size_t b = 0; b < m; ++b) V[i * m + b] /= L[i * o + i];
            constant -= std::log(L[i * o + i]) + HALF_LOG_2PI - theta.log_unit[shape.has[i]];
        }
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t b = 0; b < m; ++b) {
                double sum = sigma[shape.lacks[a] * d + shape.lacks[b]];
                for (std::size_t i = 0; i < o; ++i) sum -= V[i * m + a] * V[i * m + b];
                C[a * m + b] = sum;
            }
    }

    // The log joint of a row; `gap`, where asked for, is the whole row as it is expected, less the pivot.
    double row(const double* z, const double* mean, const double* pivot, const Shape& shape, double* y, double* gap) const {
        const std::size_t o = shape.has.size(), m = shape.lacks.size();
        double square = 0.0;
        for (std::size_t i = 0; i < o; ++i) {
            double sum = z[shape.has[i]] - mean[shape.has[i]];
            if (gap) gap[shape.has[i]] = z[shape.has[i]] - pivot[shape.has[i]];
            for (std::size_t c = 0; c < i; ++c) sum -= L[i * o + c] * y[c];
            y[i] = sum / L[i * o + i];
            square += y[i] * y[i];
        }
        if (gap)
            for (std::size_t b = 0; b < m; ++b) {
                double sum = mean[shape.lacks[b]] - pivot[shape.lacks[b]];
                for (std::size_t i = 0; i < o; ++i) sum += V[i * m + b] * y[i];
                gap[shape.lacks[b]] = sum;
            }
        return constant - 0.5 * square;
    }
};

// log Σ exp of the log joint, which becomes the responsibilities.
double normalise_row(double* joint, std::size_t K) {
    const double top = *std::max_element(joint, joint + K);
    if (!(top > -std::numeric_limits<double>::infinity())) {
        std::fill(joint, joint + K, 0.0);
        return top;
    }
    double mass = 0.0;
    for (std::size_t k = 0; k < K; ++k) mass += joint[k] = std::exp(joint[k] - top);
    for (std::size_t k = 0; k < K; ++k) joint[k] /= mass;
    return top + std::log(mass);
}

}  // namespace

void broken_log_joint(const Broken& rows, const Normals& theta, double* out, int threads) {
    const std::size_t d = rows.d, K = theta.K;
    parallel_for(rows.patterns, threads, [&](std::size_t p) {
        const Shape shape(rows.Z + rows.starts[p] * d, d);
        Seen seen;
        std::vector<double> y(d);
        for (std::size_t k = 0; k < K; ++k) {
            seen.look(theta, k, d, shape);
            for (std::int64_t r = rows.starts[p]; r < rows.starts[p + 1]; ++r)
                out[r * K + k] = seen.row(rows.Z + r * d, theta.means + k * d, nullptr, shape, y.data(), nullptr);
        }
    });
}

double broken_sums(const Broken& rows, const double* weights, const Normals& theta, const double* pivots,
                   const double* shares, double* N, double* S, double* Q, int threads) {
    const std::size_t d = rows.d, K = theta.K, size = K * (1 + d + d * d) + 1;
    const std::size_t most = std::clamp<std::size_t>((std::size_t(64) << 20) / (size * 8), 8, 64);
    const std::size_t each = (rows.patterns + most - 1) / most, parts = rows.patterns ? (rows.patterns + each - 1) / each : 0;
    std::vector<std::vector<double>> found(parts);
    parallel_for(parts, threads, [&](std::size_t t) {
        std::vector<double>& sum = found[t];
        sum.assign(size, 0.0);
        double *n = sum.data() + 1, *first = n + K, *second = first + K * d;
        std::vector<Seen> seen(K);
        std::vector<double> y(d), gap(K * d), r(K), here(K);
        for (std::size_t p = t * each; p < std::min(rows.patterns, (t + 1) * each); ++p) {
            const Shape shape(rows.Z + rows.starts[p] * d, d);
            for (std::size_t k = 0; k < K; ++k) seen[k].look(theta, k, d, shape);
            std::fill(here.begin(), here.end(), 0.0);
            for (std::int64_t row = rows.starts[p]; row < rows.starts[p + 1]; ++row) {
                const double w = weights ? weights[row] : 1.0;
                for (std::size_t k = 0; k < K; ++k)
                    r[k] = seen[k].row(rows.Z + row * d, theta.means + k * d, pivots + k * d, shape, y.data(), &gap[k * d]);
                if (shares) std::copy(shares + row * K, shares + (row + 1) * K, r.begin());
                else sum[0] += w * normalise_row(r.data(), K);
                for (std::size_t k = 0; k < K; ++k) {
                    const double share = w * r[k], *g = &gap[k * d];
                    here[k] += share;
                    for (std::size_t i = 0; i < d; ++i) {
                        const double h = share * g[i];
                        double* q = second + (k * d + i) * d;
                        first[k * d + i] += h;
                        for (std::size_t j = 0; j <= i; ++j) q[j] += h * g[j];
                    }
                }
            }
            for (std::size_t k = 0; k < K; ++k) {
                n[k] += here[k];
                const std::size_t m = shape.lacks.size();
                for (std::size_t a = 0; a < m; ++a)
                    for (std::size_t b = 0; b <= a; ++b)
                        second[(k * d + shape.lacks[a]) * d + shape.lacks[b]] += here[k] * seen[k].C[a * m + b];
            }
        }
    });
    std::vector<double> whole(size, 0.0);
    for (const auto& sum : found)
        for (std::size_t i = 0; i < size; ++i) whole[i] += sum[i];
    std::copy(&whole[1], &whole[1] + K, N);
    std::copy(&whole[1 + K], &whole[1 + K] + K * d, S);
    const double* second = &whole[1 + K + K * d];
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                Q[(k * d + i) * d + j] = Q[(k * d + j) * d + i] = second[(k * d + i) * d + j];
    return whole[0];
}

}  // namespace posteriori::mixture
