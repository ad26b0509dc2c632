#include "votes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace posteriori {

void pair_votes(const double* decisions, std::size_t n, std::size_t classes, double* out) {
    std::vector<double> wins(classes), trust(classes);
    for (std::size_t r = 0; r < n; ++r) {
        std::fill(wins.begin(), wins.end(), 0.0), std::fill(trust.begin(), trust.end(), 0.0);
        for (std::size_t i = 0; i < classes; ++i)
            for (std::size_t j = i + 1; j < classes; ++j) {
                const double f = *decisions++;
                wins[f > 0.0 ? i : j] += 1.0;
                trust[i] += f, trust[j] -= f;
            }
        for (std::size_t k = 0; k < classes; ++k) *out++ = wins[k] + trust[k] / (3.0 * (std::abs(trust[k]) + 1.0));
    }
}

}  // namespace posteriori
