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
#include "vec_math.hpp"

namespace posteriori {
namespace {

constexpr std::size_t LEAF = 16, BLOCK = 256;
constexpr double REACH = 4.0, WIDEST = 8.0;  // of |u t|, and of |t| where moments are kept
constexpr double TINY = std::numeric_limits<double>::min(), MOST = std::numeric_limits<double>::max();
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
        Doubles a = load4(g), b = load4(g + 4), c = load4(g + 8), d = load4(g + 12);
        const Doubles ta = load4(t), tb = load4(t + 4), tc = load4(t + 8), td = load4(t + 12);
        for (std::size_t k = 0; k < KERNEL_TERMS; ++k) {
            sums[k] += (a + b) + (c + d);
            const double next = 1.0 / static_cast<double>(k + 1);
            a *= ta * next, b *= tb * next, c *= tc * next, d *= td * next;
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

// The same for points that lie near each other, which go down the tree together, four in a vector. A node is left out, or taken
// by its moments, where that is right for all of them. Exponents are relative to those of the centre nearest to their middle:
// then what a node can add is convex in x, and the lowest and the highest point tell; or, where points are too far apart for
// that, of the centre nearest to each.
struct Together {
    static constexpr std::size_t VECTORS = KERNEL_BATCH / 4;
    const Query& q;
    const double per_h;
    Doubles x[VECTORS], u0[VECTORS], centre[VECTORS], weight[VECTORS], log_weight[VECTORS], sum[VECTORS];
    double low, high;
    bool common;

    Together(const Query& query, const double* points) : q(query), per_h(1.0 / q.h), low(points[0]), high(points[0]) {
        for (std::size_t i = 0; i < KERNEL_BATCH; ++i) low = std::min(low, points[i]), high = std::max(high, points[i]);
        for (std::size_t i = 0; i < VECTORS; ++i) x[i] = load4(points + 4 * i);
    }

    // Whether all sums could be taken so; else they are to be taken one by one.
    bool take(bool all_from_one, double* out) {
        common = all_from_one;
        const std::size_t middle = nearest(low + 0.5 * (high - low));
        for (std::size_t i = 0; i < VECTORS; ++i) {
            for (std::size_t j = 0; j < 4; ++j) {
                const std::size_t near = common ? middle : nearest(x[i][j]);
                centre[i][j] = q.v[near], weight[i][j] = q.w[near];
            }
            u0[i] = (x[i] - centre[i]) * per_h, log_weight[i] = log4(weight[i]), sum[i] = Doubles{};
            for (std::size_t j = 0; j < 4; ++j)
                if (!(u0[i][j] * u0[i][j] <= MOST) || !(weight[i][j] >= TINY)) return false;
        }
        below(Node{0, 0});
        for (std::size_t i = 0; i < VECTORS; ++i) {
            for (std::size_t j = 0; j < 4; ++j)
                if (!(sum[i][j] >= TINY && sum[i][j] <= MOST)) return false;
            store4(out + 4 * i, log_weight[i] - 0.5 * u0[i] * u0[i] + log4(sum[i]));
        }
        return true;
    }

    std::size_t nearest(double point) const {
        const auto right = static_cast<std::size_t>(std::lower_bound(q.v, q.v + q.n, point) - q.v);
        if (right == 0 || (right < q.n && q.v[right] - point <= point - q.v[right - 1])) return right;
        return right - 1;
    }

    // The most that centres between `first` and `last` can add: ½(u0² − u²) + the logarithm of their weight as a share.
    double at_most(double first, double last, double log_sum) const {
        if (common) {
            const double c = centre[0][0], a = (low - std::clamp(low, first, last)) * per_h, a0 = (low - c) * per_h;
            const double b = (high - std::clamp(high, first, last)) * per_h, b0 = (high - c) * per_h;
            return 0.5 * std::max((a0 - a) * (a0 + a), (b0 - b) * (b0 + b)) + (log_sum - log_weight[0][0]);
        }
        Doubles most = all4(-MOST);
        for (std::size_t i = 0; i < VECTORS; ++i) {
            const Doubles over = x[i] - last, under = x[i] - first;
            const Doubles u = (over > Doubles{} ? over : under < Doubles{} ? under : Doubles{}) * per_h;
            const Doubles one = 0.5 * (u0[i] - u) * (u0[i] + u) + (log_sum - log_weight[i]);
            most = one > most ? one : most;
        }
        return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
    }

    void below(Node node) {
        const double* row = q.tree + node.at() * KERNEL_ROW;
        const std::size_t begin = node.begin(q.n), end = node.end(q.n);
        const double most = at_most(q.v[begin], q.v[end - 1], row[2]);
        if (most < LEAST) return;
        const double furthest = std::max(std::fabs(low - row[0]), std::fabs(high - row[0])) * per_h;
        if (row[1] <= WIDEST && furthest * row[1] <= REACH + std::max(0.0, -most - 1.5) / 5.0) return add_moments_of(row);
        if (node.level < q.levels) return below({node.level + 1, 2 * node.i}), below({node.level + 1, 2 * node.i + 1});
        for (std::size_t i = begin; i < end; ++i) {
            if (at_most(q.v[i], q.v[i], row[2]) < LEAST) continue;
            Doubles e[VECTORS];
            exponents(q.v[i], e);
            for (std::size_t j = 0; j < VECTORS; ++j) sum[j] += e[j] * (q.w[i] / weight[j]);
        }
    }

    // exp of ½(u0² − u²), u being from c; what is too large becomes infinite.
    void exponents(double c, Doubles* e, double log_sum = 0.0, const Doubles* less = nullptr) const {
        for (std::size_t j = 0; j < VECTORS; ++j) {
            e[j] = 0.5 * (c - centre[j]) * per_h * (u0[j] + (x[j] - c) * per_h);
            if (less) e[j] += log_sum - less[j];
            e[j] = e[j] < all4(1000.0) ? e[j] : all4(1000.0);
        }
        for (std::size_t j = 0; j < VECTORS; j += 2) exp4<2>(e + j);
    }

    void add_moments_of(const double* row) {
        const double* M = row + 3;
        Doubles u[VECTORS], square[VECTORS], even[VECTORS], odd[VECTORS], e[VECTORS];
        for (std::size_t j = 0; j < VECTORS; ++j) {
            u[j] = (x[j] - row[0]) * per_h, square[j] = u[j] * u[j];
            even[j] = all4(M[KERNEL_TERMS - 2]), odd[j] = all4(M[KERNEL_TERMS - 1]);
        }
        for (std::size_t k = KERNEL_TERMS - 2; k > 0; k -= 2)
            for (std::size_t j = 0; j < VECTORS; ++j)
                even[j] = even[j] * square[j] + M[k - 2], odd[j] = odd[j] * square[j] + M[k - 1];
        exponents(row[0], e, row[2], log_weight);
        for (std::size_t j = 0; j < VECTORS; ++j) sum[j] += e[j] * (even[j] + u[j] * odd[j]);
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

void kernel_sums_together(const double* x, const double* v, const double* w, std::size_t n, double h, const double* tree,
                          double* out) {
    const Query query{v, w, tree, n, kernel_levels(n), h};
    Together all(query, x);
    if (all.take(true, out) || all.take(false, out)) return;
    for (std::size_t i = 0; i < KERNEL_BATCH; ++i) out[i] = query(x[i]);
}

void kernel_sums(const double* x, std::size_t queries, const double* v, const double* w, std::size_t n, double h,
                 const double* tree, double* out, int threads) {
    const Query query{v, w, tree, n, kernel_levels(n), h};
    parallel_for((queries + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
        for (std::size_t i = b * BLOCK; i < std::min(queries, (b + 1) * BLOCK); ++i) out[i] = query(x[i]);
    });
}

}  // namespace posteriori
