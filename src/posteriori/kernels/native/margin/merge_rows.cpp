#include "merge_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanes.hpp"

namespace posteriori {
namespace {

// What is no number (∞ − ∞) is ∞: keys have an order.
double ordered(double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; }

// xᵀz, in one order for every row
double project(const double* x, const double* z, std::size_t d) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> sums{};
    std::size_t j = 0;
    for (; j + W <= d; j += W) sums += load(x + j) * load(z + j);
    double total = 0.0;
    for (std::size_t l = 0; l < W; ++l) total += sums[l];
    for (; j < d; ++j) total += x[j] * z[j];
    return ordered(total);
}

struct Row {
    double target, one, two;
    std::int64_t at;
    bool alike(const Row& other) const { return target == other.target && one == other.one && two == other.two; }
    bool operator<(const Row& other) const {
        if (target != other.target) return target < other.target;
        if (one != other.one) return one < other.one;
        return two != other.two ? two < other.two : at < other.at;
    }
};

}  // namespace

std::size_t merge_rows(const double* X, std::size_t n, std::size_t d, const double* target, const double* weight,
                       const double* directions, std::int64_t* first, double* total, std::int64_t* group, double* share) {
    std::vector<Row> rows;
    rows.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        group[i] = -1, share[i] = 0.0;
        const double* x = X + i * d;
        if (weight[i] > 0.0)
            rows.push_back({ordered(target[i]), project(x, directions + d, d), project(x, directions, d), static_cast<std::int64_t>(i)});
    }
    std::sort(rows.begin(), rows.end());
    std::size_t groups = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const double* x = X + static_cast<std::size_t>(rows[r].at) * d;
        const bool again = r > 0 && rows[r].alike(rows[r - 1]) && std::equal(x, x + d, X + static_cast<std::size_t>(rows[r - 1].at) * d);
        if (!again) first[groups] = rows[r].at, total[groups++] = 0.0;
        group[rows[r].at] = static_cast<std::int64_t>(groups) - 1;
        total[groups - 1] += weight[rows[r].at];
    }
    for (std::size_t i = 0; i < n; ++i)
        if (group[i] >= 0) share[i] = weight[i] / total[group[i]];
    return groups;
}

}  // namespace posteriori
