#include "pair_parents.hpp"

#include <algorithm>

#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t kScopes = 512, kRows = 64;  // of a task

// Where the rows of every pair of columns are.
struct Rows {
    const std::vector<std::int64_t>& keys;
    std::size_t d;
    std::vector<std::int64_t> first;   // [pairs + 1] key of the first cell
    std::vector<std::size_t> begin;    // [pairs + 1] first row

    Rows(const std::vector<std::int64_t>& sorted, const std::vector<std::int64_t>& sizes) : keys(sorted), d(sizes.size()) {
        first.push_back(0);
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = i + 1; j < d; ++j) first.push_back(first.back() + sizes[i] * sizes[j]);
        for (const auto key : first)
            begin.push_back(static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin()));
    }
    std::size_t pair(std::size_t i, std::size_t j) const { return i * d - i * (i + 1) / 2 + j - i - 1; }
    // The row of a cell of a pair; −1 where it has none.
    std::ptrdiff_t row(std::size_t pair, std::int64_t cell) const {
        const std::size_t a = begin[pair], b = begin[pair + 1];
        if (static_cast<std::int64_t>(b - a) == first[pair + 1] - first[pair]) return static_cast<std::ptrdiff_t>(a) + cell;
        const auto at = std::lower_bound(keys.begin() + static_cast<std::ptrdiff_t>(a), keys.begin() + static_cast<std::ptrdiff_t>(b),
                                         first[pair] + cell);
        return at - keys.begin() < static_cast<std::ptrdiff_t>(b) && *at == first[pair] + cell ? at - keys.begin() : -1;
    }
};

}  // namespace

template <typename N>
void pair_tables(const Triples<N>& triples, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& keys,
                 double smoothing, std::size_t padded, double* theta, int threads) {
    const std::size_t d = sizes.size(), K = triples.n_classes;
    std::vector<std::size_t> place{0};
    for (const auto size : sizes) place.push_back(place.back() + static_cast<std::size_t>(size));
    const std::size_t stride = place.back() * padded;
    const Rows rows(keys, sizes);
    // Each cell of a triple belongs to three pairs, each time with the third value as c: no two cells meet in θ.
    parallel_for((triples.n_scopes + kScopes - 1) / kScopes, threads, [&](std::size_t task) {
        for (std::size_t s = task * kScopes; s < std::min(triples.n_scopes, (task + 1) * kScopes); ++s) {
            const std::int32_t* scope = triples.scopes + s * 3;
            const auto i = static_cast<std::size_t>(scope[0]), j = static_cast<std::size_t>(scope[1]), k = static_cast<std::size_t>(scope[2]);
            const std::size_t ij = rows.pair(i, j), ik = rows.pair(i, k), jk = rows.pair(j, k);
            for (std::int64_t t = triples.offsets[s]; t < triples.offsets[s + 1]; ++t) {
                const std::int64_t cell = triples.cells ? triples.cells[t] : t - triples.offsets[s];
                const std::int64_t c = cell % sizes[k], b = cell / sizes[k] % sizes[j], a = cell / sizes[k] / sizes[j];
                const N* counts = triples.counts + static_cast<std::size_t>(t) * K;
                const auto put = [&](std::ptrdiff_t row, std::size_t column) {
                    if (row < 0) return;
                    double* to = theta + static_cast<std::size_t>(row) * stride + column * padded;
                    for (std::size_t y = 0; y < K; ++y) to[y] = static_cast<double>(counts[y]);
                };
                put(rows.row(ij, a * sizes[j] + b), place[k] + static_cast<std::size_t>(c));
                put(rows.row(ik, a * sizes[k] + c), place[j] + static_cast<std::size_t>(b));
                put(rows.row(jk, b * sizes[k] + c), place[i] + static_cast<std::size_t>(a));
            }
        }
    });
    parallel_for((keys.size() + kRows - 1) / kRows, threads, [&](std::size_t task) {
        std::vector<double> total(K);
        for (std::size_t r = task * kRows; r < std::min(keys.size(), (task + 1) * kRows); ++r) {
            const auto after = std::upper_bound(rows.begin.begin(), rows.begin.end(), r);  // the pair of columns of this row
            const auto pair = static_cast<std::size_t>(after - rows.begin.begin()) - 1;
            for (std::size_t k = 0, i = 0; k < d; ++k) {
                while (i + 2 < d && pair >= rows.pair(i + 1, i + 2)) ++i;
                const bool own = k == i || (i + 1 < d && k > i && pair == rows.pair(i, k));
                double* cells = theta + r * stride + place[k] * padded;
                const auto size = static_cast<std::size_t>(sizes[k]);
                std::fill(total.begin(), total.end(), static_cast<double>(size) * smoothing);
                for (std::size_t c = 0; c < size; ++c)
                    for (std::size_t y = 0; y < K; ++y) total[y] += cells[c * padded + y];
                for (std::size_t c = 0; c < size; ++c)
                    for (std::size_t y = 0; y < padded; ++y) {
                        double& cell = cells[c * padded + y];
                        if (y >= K || own) cell = 1.0;
                        else cell = total[y] > 0 ? (cell + smoothing) / total[y] : 1.0 / static_cast<double>(size);
                    }
            }
        }
    });
}

template void pair_tables(const Triples<std::int64_t>&, const std::vector<std::int64_t>&, const std::vector<std::int64_t>&,
                          double, std::size_t, double*, int);
template void pair_tables(const Triples<double>&, const std::vector<std::int64_t>&, const std::vector<std::int64_t>&, double,
                          std::size_t, double*, int);

}  // namespace posteriori
