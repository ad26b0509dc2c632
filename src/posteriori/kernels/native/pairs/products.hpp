// Π_j of a row's cells under many super-parents: what scoring and leave-one-out have in common.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "parents.hpp"
#include "scaled.hpp"

namespace posteriori {

constexpr double kLn2 = 0.693147180559945309417232;
constexpr std::size_t kChunk = 512;  // rows of a task
constexpr std::size_t kTeam = 4;     // super-parents multiplied side by side, so that no one waits for another

// The observed cells of a row, as offsets into a table row.
inline void observed(const std::int32_t* columns, std::size_t d, const ParentTable& theta, std::vector<std::size_t>& offsets) {
    offsets.clear();
    for (std::size_t j = 0; j < d; ++j) {
        if (columns[j] < 0) continue;
        if (static_cast<std::size_t>(columns[j]) >= theta.columns) throw std::out_of_range("a code is outside its table");
        offsets.push_back(static_cast<std::size_t>(columns[j]) * theta.padded);
    }
}

inline void check_codes(const std::int32_t* codes, std::size_t n, std::size_t limit) {
    std::int32_t most = -1;
    for (std::size_t k = 0; k < n; ++k) most = std::max(most, codes[k]);
    if (most >= 0 && static_cast<std::size_t>(most) >= limit) throw std::out_of_range("a code is outside its table");
}

// Π_j of the classes [lane, lane + L) for `team` super-parents at once.
template <int L, std::size_t team>
void products(const double* const* rows, const std::vector<std::size_t>& offsets, std::size_t block, Scaled<L>* out) {
    using Real = typename Lanes<L>::Real;
    Real product[team];
    typename Lanes<L>::Int exponent[team];
    for (std::size_t s = 0; s < team; ++s) product[s] = Real{} + 1.0, exponent[s] = typename Lanes<L>::Int{};
    for (std::size_t begin = 0; begin < offsets.size(); begin += block) {
        const std::size_t end = std::min(offsets.size(), begin + block);
        for (std::size_t j = begin; j < end; ++j)
            for (std::size_t s = 0; s < team; ++s) product[s] *= Lanes<L>::load(rows[s] + offsets[j]);
        if (end == offsets.size()) break;
        for (std::size_t s = 0; s < team; ++s) {
            const auto scaled = Scaled<L>::of(product[s], exponent[s]);
            product[s] = scaled.mantissa, exponent[s] = scaled.exponent;
        }
    }
    for (std::size_t s = 0; s < team; ++s) out[s] = Scaled<L>::of(product[s], exponent[s]);
}

template <int L>
void all_products(const std::vector<const double*>& rows, const std::vector<std::size_t>& offsets, std::size_t block,
                  Scaled<L>* out) {
    std::size_t s = 0;
    for (; s + kTeam <= rows.size(); s += kTeam) products<L, kTeam>(rows.data() + s, offsets, block, out + s);
    for (; s < rows.size(); ++s) products<L, 1>(rows.data() + s, offsets, block, out + s);
}

}  // namespace posteriori
