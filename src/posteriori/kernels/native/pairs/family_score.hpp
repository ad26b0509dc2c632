// What the counts of one family add to its score: likelihoods, BDeu and K2, factorised NML.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "pairs/families.hpp"
#include "pairs/rising.hpp"

namespace posteriori {

// N ln N by table or by hand; no count leads out of the table.
struct XLogX {
    const double* table;
    double most;
    double operator()(double n) const {
        return table ? table[static_cast<std::size_t>(std::min(n, most))] : (n > 0.0 ? n * std::log(n) : 0.0);
    }
};

// What the configurations (π, z) of one block add to a score, from N[x][z].
struct Adder {
    const Scoring& how;
    double r, q;  // of the whole family
    XLogX x_log_x{how.x_log_x, how.most};
    double a = how.kind == FamilyScore::bdeu ? how.number / (q * r) : 1.0;
    bool gammas = how.kind == FamilyScore::bdeu || how.kind == FamilyScore::k2;
    double log_gamma = gammas ? std::lgamma(a) : 0.0, log_gamma_whole = gammas ? std::lgamma(a * r) : 0.0;
    std::vector<double> whole{};
    std::vector<std::int32_t> whole_count{};

    // Whole counts whose logarithms are known.
    double looked_up(const std::int32_t* counts, std::size_t rows, std::size_t columns, std::size_t stride) {
        whole_count.assign(columns, 0);
        const auto most = static_cast<std::int32_t>(how.most);
        double sum = 0.0;
        for (std::size_t x = 0; x < rows; ++x)
            for (std::size_t z = 0; z < columns; ++z) {
                const std::int32_t n = counts[x * stride + z];
                whole_count[z] += n;
                sum += how.x_log_x[std::min(n, most)];
            }
        for (const auto n : whole_count) {
            sum -= how.x_log_x[std::min(n, most)];
            if (how.kind == FamilyScore::fnml) sum -= how.regret[std::min(n, most)];
        }
        return sum;
    }

    // ln Γ(a + n)/Γ(a)
    double rising(double from, double log_gamma_from, double n) const {
        if (n == 1.0) return std::log(from);
        if (n == 2.0 && from < 1e100) return std::log(from * (from + 1.0));
        return log_rising(from, log_gamma_from, n);
    }

    template <typename N> double operator()(const N* counts, std::size_t rows, std::size_t columns, std::size_t stride) {
        if constexpr (std::is_integral_v<N>)
            if (!gammas && how.x_log_x) return looked_up(counts, rows, columns, stride);
        whole.assign(columns, 0.0);
        double sum = 0.0;
        for (std::size_t x = 0; x < rows; ++x)
            for (std::size_t z = 0; z < columns; ++z) {
                const double n = static_cast<double>(counts[x * stride + z]);
                if (n <= 0.0) continue;
                whole[z] += n;
                sum += gammas ? rising(a, log_gamma, n) : x_log_x(n);
            }
        for (const double n : whole) {
            if (n <= 0.0) continue;
            sum -= gammas ? rising(a * r, log_gamma_whole, n) : x_log_x(n);
            if (how.kind == FamilyScore::fnml) sum -= how.regret[static_cast<std::size_t>(std::min(n, how.most))];
        }
        return sum;
    }

    double price() const { return how.kind == FamilyScore::penalised ? how.number * q * (r - 1.0) : 0.0; }
};

}  // namespace posteriori
