// ln Σ_v w_v exp(−½((x − v)/h)²) over sorted centres v, by a tree of their moments.
//
// A node holds the centres of a range; c is its middle, t = (v − c)/h, u = (x − c)/h, W = Σw. Then
//     Σ w exp(−½(u − t)²) = exp(−½u²) Σ_k u^k M_k,   M_k = Σ w exp(−½t²) t^k / k!,
// and where |u t| <= 4 the first 24 terms leave 3e-8 of the sum; the less a node can add, the further off it may be: at
// exp(−6.5) of what the nearest centre gives |u t| <= 5, at exp(−11.5) 6, and so on. A node further off is split; one that
// cannot add 1e-9 is left out; a leaf that cannot be split is summed as it is. Exponents are taken relative
// to the nearest centre's, as products of differences, so that a query far out keeps its digits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t LEAF = 32, BLOCK = 256;
constexpr double REACH = 4.0, WIDEST = 8.0;  // of |u t|, and of |t| where moments are kept
const double LEAST = std::log(1e-9);

struct Node {
    std::size_t level, i;
    std::size_t at() const { return (std::size_t{1} << level) - 1 + i; }
    std::size_t begin(std::size_t n) const { return n * i >> level; }
    std::size_t end(std::size_t n) const { return n * (i + 1) >> level; }
};

// w exp(−½t²) t^k / k! summed for all k, four centres at a time.
void add_moments(const double* v, const double* w, std::size_t count, double centre, double h, double whole, double* M) {
    Doubles sums[KERNEL_TERMS] = {};
    alignas(32) double t[LEAF], g[LEAF];
    for (std::size_t from = 0; from < count; from += LEAF) {
        const std::size_t some = std::min(LEAF, count - from);
        for (std::size_t i = 0; i < LEAF; ++i) t[i] = i < some ? (v[from + i] - centre) / h : 0.0;
        for (std::size_t i = 0; i < LEAF; ++i) g[i] = -0.5 * t[i] * t[i];
        exp_all(g, LEAF);
        for (std::size_t i = 0; i < LEAF; ++i) g[i] = i < some ? g[i] * (w[from + i] / whole) : 0.0;
        for (std::size_t i = 0; i < LEAF; i += 16) {
            Doubles a = load4(g + i), b = load4(g + i + 4), c = load4(g + i + 8), d = load4(g + i + 12);
            const Doubles ta = load4(t + i), tb = load4(t + i + 4), tc = load4(t + i + 8), td = load4(t + i + 12);
            for (std::size_t k = 0; k < KERNEL_TERMS; ++k) {
                sums[k] += (a + b) + (c + d);
                const double next = 1.0 / static_cast<double>(k + 1);
                a *= ta * next, b *= tb * next, c *= tc * next, d *= td * next;
            }
        }
    }
    for (std::size_t k = 0; k < KERNEL_TERMS; ++k) M[k] = (sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]);
}

struct Query {
    const double *v, *w, *tree;
    std::size_t n, levels;
    double h;

    double operator()(double x) const {
        const std::size_t right = static_cast<std::size_t>(std::lower_bound(v, v + n, x) - v);
        std::size_t near = std::min(right, n - 1);
        if (right > 0 && right < n) {
            const double a = (x - v[right - 1]) / h, b = (v[right] - x) / h;
            if (std::log(w[right - 1]) - 0.5 * a * a > std::log(w[right]) - 0.5 * b * b) near = right - 1;
        }
        const double u0 = (x - v[near]) / h, first = std::log(w[near]);
        if (!std::isfinite(u0 * u0)) return -std::numeric_limits<double>::infinity();
        const double sum = below(Node{0, 0}, x, near, u0, first);
        return std::isfinite(sum) ? (first - 0.5 * u0 * u0) + std::log(sum) : all(x);
    }

    // Σ over a node of w exp(−½u²), as a share of the nearest centre's term.
    double below(Node node, double x, std::size_t near, double u0, double first) const {
        const double* row = tree + node.at() * KERNEL_ROW;
        const std::size_t begin = node.begin(n), end = node.end(n);
        const double edge = x < v[begin] ? v[begin] : x > v[end - 1] ? v[end - 1] : x;
        const double closest = (x - edge) / h;
        const double most = 0.5 * (u0 - closest) * (u0 + closest) + row[2] - first;
        if (most < LEAST) return 0.0;
        const double u = (x - row[0]) / h;
        if (row[1] <= WIDEST && std::fabs(u) * row[1] <= REACH + std::max(0.0, -most - 1.5) / 5.0) {
            const double* M = row + 3;
            double even = M[KERNEL_TERMS - 2], odd = M[KERNEL_TERMS - 1];
            for (std::size_t k = KERNEL_TERMS - 2; k > 0; k -= 2) {
                even = even * (u * u) + M[k - 2];
                odd = odd * (u * u) + M[k - 1];
            }
            return std::exp(0.5 * (row[0] - v[near]) / h * (u0 + u) + row[2] - first) * (even + u * odd);
        }
        if (node.level < levels)
            return below({node.level + 1, 2 * node.i}, x, near, u0, first) +
                   below({node.level + 1, 2 * node.i + 1}, x, near, u0, first);
        double sum = 0.0;
        for (std::size_t i = begin; i < end; ++i)
            sum += std::exp(0.5 * (v[i] - v[near]) / h * (u0 + (x - v[i]) / h)) * (w[i] / w[near]);
        return sum;
    }

    // The plain sum, where weights differ by more than a double holds.
    double all(double x) const {
        double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
        auto term = [&](std::size_t i) {
            const double u = (x - v[i]) / h;
            return std::log(w[i]) - 0.5 * u * u;
        };
        for (std::size_t i = 0; i < n; ++i) top = std::max(top, term(i));
        for (std::size_t i = 0; i < n; ++i) sum += std::exp(term(i) - top);
        return top + std::log(sum);
    }
};

}  // namespace

std::size_t kernel_levels(std::size_t n) {
    std::size_t levels = 0;
    while (((n + (std::size_t{1} << levels) - 1) >> levels) > LEAF) ++levels;
    return levels;
}

void kernel_tree(const double* v, const double* w, std::size_t n, double h, double* tree, int threads) {
    const std::size_t levels = kernel_levels(n), nodes = (std::size_t{2} << levels) - 1;
    parallel_for((nodes + 15) / 16, threads, [&](std::size_t task) {
        for (std::size_t at = 16 * task; at < std::min(nodes, 16 * task + 16); ++at) {
            std::size_t level = 0;
            while ((std::size_t{2} << level) - 1 <= at) ++level;
            const Node node{level, at + 1 - (std::size_t{1} << level)};
            const std::size_t begin = node.begin(n), count = node.end(n) - begin;
            double* row = tree + at * KERNEL_ROW;
            double whole = 0.0;
            for (std::size_t i = begin; i < begin + count; ++i) whole += w[i];
            row[0] = v[begin] + 0.5 * (v[begin + count - 1] - v[begin]);
            row[1] = std::max(v[begin + count - 1] - row[0], row[0] - v[begin]) / h;
            row[2] = std::log(whole);
            if (row[1] <= WIDEST) add_moments(v + begin, w + begin, count, row[0], h, whole, row + 3);
            else std::fill_n(row + 3, KERNEL_TERMS, 0.0);
        }
    });
}

double kernel_sum(double x, const double* v, const double* w, std::size_t n, double h, const double* tree) {
    return Query{v, w, tree, n, kernel_levels(n), h}(x);
}

void kernel_sums(const double* x, std::size_t queries, const double* v, const double* w, std::size_t n, double h,
                 const double* tree, double* out, int threads) {
    const Query query{v, w, tree, n, kernel_levels(n), h};
    parallel_for((queries + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
        for (std::size_t i = b * BLOCK; i < std::min(queries, (b + 1) * BLOCK); ++i) out[i] = query(x[i]);
    });
}

}  // namespace posteriori
