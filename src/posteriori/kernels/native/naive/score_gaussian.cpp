// start + Σ_j −½[ln 2πσ² + ((x − μ)/σ)²]. The logarithms are summed once; rows with NaN are gone over cell by cell.
// (x − μ)/σ is squared rather than (x − μ)² divided: neither tiny nor huge scales leave the range of a double.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t ROWS = 256;
constexpr std::size_t GROUP = 256;  // columns summed before they are added to the rest
const double LOG_2PI = 1.8378770664093454836;

struct Exact {  // a sum and what its roundings lost
    double sum = 0.0, lost = 0.0;
    void add(double x) {
        const double t = sum + x, back = t - sum;
        lost += (sum - (t - back)) + (x - back);
        sum = t;
    }
    double value() const { return std::isfinite(lost) ? sum + lost : sum; }
};

struct Model {
    std::size_t K, d;
    const double *mean, *variance;
    std::vector<double> scale, constant, logs;  // 1/σ, Σ_j ½ ln 2πσ², and ½ ln 2πσ² where rows are many

    Model(const double* mean_, const double* variance_, std::size_t K_, std::size_t d_, std::size_t rows)
        : K(K_), d(d_), mean(mean_), variance(variance_), scale(K * d), constant(K, 0.0) {
        for (std::size_t k = 0; k < K; ++k) {
            const double* v = variance + k * d;
            for (std::size_t j = 0; j < d; ++j) {
                if (!(v[j] > 0.0) && rows)
                    throw std::invalid_argument("class " + std::to_string(k) + " has variance " + std::to_string(v[j]) +
                                                " in column " + std::to_string(j) + "; it must be positive");
                scale[k * d + j] = 1.0 / std::sqrt(v[j]);
            }
            constant[k] = 0.5 * (static_cast<double>(d) * LOG_2PI + log_product(v, d));
        }
        if (rows >= 16) {
            logs.resize(K * d);
            for (std::size_t i = 0; i < K * d; ++i) logs[i] = 0.5 * (LOG_2PI + std::log(variance[i]));
        }
    }

    double half_log(std::size_t at) const { return logs.empty() ? 0.5 * (LOG_2PI + std::log(variance[at])) : logs[at]; }

    // Σ ln v: one logarithm for as many factors as a double holds, each of which costs no more than a rounding.
    static double log_product(const double* v, std::size_t d) {
        Exact total;
        double product = 1.0;
        for (std::size_t j = 0; j < d; ++j) {
            const double next = product * v[j];
            if (next > 1e-280 && next < 1e280) {
                product = next;
            } else {
                total.add(std::log(product));
                product = v[j];
            }
        }
        total.add(std::log(product));
        return total.value();
    }
};

// Σ_j ((x_j − μ_j)/σ_j)² for C classes at once.
template <typename T, int C>
void squares(const T* x, const Model& model, std::size_t k, double* out) {
    Exact totals[C];
    const std::size_t d = model.d;
    const double *mean = model.mean + k * d, *scale = model.scale.data() + k * d;
    for (std::size_t from = 0; from < d; from += GROUP) {
        const std::size_t to = std::min(d, from + GROUP);
        Doubles sums[C] = {};
        std::size_t j = from;
        for (; j + 4 <= to; j += 4) {
            const Doubles value = load4(x + j);
            for (int c = 0; c < C; ++c) {
                const Doubles z = (value - load4(mean + c * d + j)) * load4(scale + c * d + j);
                sums[c] += z * z;
            }
        }
        for (int c = 0; c < C; ++c) {
            double sum = (sums[c][0] + sums[c][1]) + (sums[c][2] + sums[c][3]);
            for (std::size_t i = j; i < to; ++i) {
                const double z = (static_cast<double>(x[i]) - mean[c * d + i]) * scale[c * d + i];
                sum += z * z;
            }
            totals[c].add(sum);
        }
    }
    for (int c = 0; c < C; ++c) out[c] = totals[c].value();
}

// A row with NaN or inf in it: the NaN cells take no part.
template <typename T>
int score_odd(const T* x, const Model& model, const double* start, double* out) {
    int seen = CLEAN;
    for (std::size_t j = 0; j < model.d; ++j) seen |= std::isnan(x[j]) ? SAW_NAN : std::isinf(x[j]) ? SAW_INF : CLEAN;
    for (std::size_t k = 0; k < model.K; ++k) {
        Exact total;
        for (std::size_t j = 0; j < model.d; ++j) {
            if (std::isnan(x[j])) continue;
            const std::size_t at = k * model.d + j;
            const double z = (static_cast<double>(x[j]) - model.mean[at]) * model.scale[at];
            total.add(model.half_log(at) + 0.5 * z * z);
        }
        out[k] = start[k] - total.value();
    }
    return seen;
}

template <typename T>
int score_row(const T* x, const Model& model, const double* start, double* out) {
    double square[4];
    bool odd = false;
    for (std::size_t k = 0; k < model.K; k += 4) {
        const std::size_t classes = std::min<std::size_t>(4, model.K - k);
        switch (classes) {
            case 1: squares<T, 1>(x, model, k, square); break;
            case 2: squares<T, 2>(x, model, k, square); break;
            case 3: squares<T, 3>(x, model, k, square); break;
            default: squares<T, 4>(x, model, k, square);
        }
        for (std::size_t c = 0; c < classes; ++c) {
            out[k + c] = start[k + c] - (model.constant[k + c] + 0.5 * square[c]);
            odd = odd || !std::isfinite(square[c]);
        }
    }
    return odd ? score_odd(x, model, start, out) : CLEAN;
}

}  // namespace

template <typename T>
std::int64_t score_gaussian(const Matrix<T>& X, const double* mean, const double* variance, std::size_t K,
                            const Scores& to, int threads, int* seen) {
    const Model model(mean, variance, K, X.d, X.n);
    const std::size_t blocks = (X.n + ROWS - 1) / ROWS;
    std::vector<std::int64_t> impossible(blocks, NONE);
    std::vector<int> flags(blocks, CLEAN);
    parallel_for(blocks, threads, [&](std::size_t b) {
        const std::size_t begin = b * ROWS, count = std::min(ROWS, X.n - begin);
        std::vector<T> turned;
        std::ptrdiff_t row;
        const T* x = X.rows(begin, count, turned, &row);
        for (std::size_t r = begin; r < begin + count; ++r, x += row)
            flags[b] |= score_row(x, model, to.start + r * to.start_stride, to.out + r * K);
        double* out = to.out + begin * K;
        if (!to.posterior) return;
        impossible[b] = normalise_block(out, count, K, out, nullptr);
        if (impossible[b] != NONE) impossible[b] += static_cast<std::int64_t>(begin);
    });
    for (const auto flag : flags) *seen |= flag;
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

template std::int64_t score_gaussian<double>(const Matrix<double>&, const double*, const double*, std::size_t,
                                             const Scores&, int, int*);
template std::int64_t score_gaussian<float>(const Matrix<float>&, const double*, const double*, std::size_t,
                                            const Scores&, int, int*);

}  // namespace posteriori
