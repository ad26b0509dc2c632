// Where rows end in a tree, and what the counts along their way say.
#include <algorithm>
#include <vector>

#include "threads.hpp"
#include "trees.hpp"

namespace posteriori {

namespace {

constexpr std::size_t BLOCK = 256;  // rows whose codes are laid row by row, and stay near

template <typename N> struct One {
    const std::int32_t *column, *cut, *child;
    const N* counts;
    const std::uint64_t* bits;

    One(const Forest<N>& forest, std::size_t t)
        : column(forest.column + forest.starts[t]), cut(forest.cut + forest.starts[t]), child(forest.child + forest.starts[t]),
          counts(forest.counts + forest.starts[t] * forest.K), bits(forest.bits + forest.bit_starts[t]) {}
};

// The node after `node` on the way of a row, or −1 where it ends.
template <typename C, typename N> std::int32_t next(const One<N>& tree, const CodedRows<C>& rows, std::int32_t node, const C* row) {
    const std::int32_t j = tree.column[node];
    if (j < 0) return -1;
    const std::int32_t v = row[j];
    if (v >= rows.sizes[j]) return -1;
    if (!rows.named[j]) return tree.child[node] + (v > tree.cut[node]);
    const std::size_t words = (static_cast<std::size_t>(rows.sizes[j]) + 63) / 64, at = static_cast<std::size_t>(v) / 64;
    const std::uint64_t* bits = tree.bits + tree.cut[node];
    if (!(bits[words + at] >> (v % 64) & 1)) return -1;
    return tree.child[node] + !(bits[at] >> (v % 64) & 1);
}

// work(tree, t, codes of a row, r) for every tree and row, blocks of rows in threads, the trees of a row in order.
template <typename C, typename N, typename Work>
void for_each(const CodedRows<C>& rows, const Forest<N>& forest, Bags bags, int threads, Work&& work) {
    const std::size_t d = rows.sizes.size(), n = rows.n, words = (n + 63) / 64;
    parallel_for((n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
        const std::size_t from = b * BLOCK, to = std::min(n, from + BLOCK);
        std::vector<C> codes((to - from) * d);
        for (std::size_t j = 0; j < d; ++j) {
            const C* column = rows.column(static_cast<int>(j));
            for (std::size_t r = from; r < to; ++r) codes[(r - from) * d + j] = column[r];
        }
        auto step = work();
        for (std::size_t t = 0; t < forest.trees; ++t) {
            const One<N> tree(forest, t);
            for (std::size_t r = from; r < to; ++r)
                if (!bags || !(bags[t * words + r / 64] >> (r % 64) & 1)) step(tree, t, codes.data() + (r - from) * d, r);
        }
    });
}

template <typename N> double total(const N* counts, std::size_t K) {
    double sum = 0;
    for (std::size_t k = 0; k < K; ++k) sum += static_cast<double>(counts[k]);
    return sum;
}

}  // namespace

template <typename C, typename N> void tree_leaves(const CodedRows<C>& rows, const Forest<N>& forest, std::int32_t* out, int threads) {
    for_each(rows, forest, nullptr, threads, [&] {
        return [&](const One<N>& tree, std::size_t t, const C* row, std::size_t r) {
            std::int32_t node = 0;
            for (std::int32_t then = 0; then >= 0; then = next(tree, rows, node, row)) node = then;
            out[t * rows.n + r] = node;
        };
    });
}

template <typename C>
void path_counts(const CodedRows<C>& rows, const Forest<double>& forest, const std::uint32_t* y, const double* weights, double* counts) {
    for_each(rows, forest, nullptr, 1, [&] {
        return [&](const One<double>& tree, std::size_t, const C* row, std::size_t r) {
            for (std::int32_t node = 0; node >= 0; node = next(tree, rows, node, row))
                counts[static_cast<std::size_t>(node) * forest.K + y[r]] += weights ? weights[r] : 1.0;
        };
    });
}

template <typename C, typename N>
void forest_sums(const CodedRows<C>& rows, const Forest<N>& forest, double c, Bags bags, double* out, std::uint32_t* used, int threads) {
    const std::size_t K = forest.K;
    for_each(rows, forest, bags, threads, [&] {
        return [&, p = std::vector<double>(K)](const One<N>& tree, std::size_t, const C* row, std::size_t r) mutable {
            std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(K));
            for (std::int32_t node = 0; node >= 0; node = next(tree, rows, node, row)) {
                const N* counts = tree.counts + static_cast<std::size_t>(node) * K;
                const double whole = total(counts, K) + c;
                if (whole <= 0) continue;  // no row and no concentration: what was known stays
                for (std::size_t k = 0; k < K; ++k) p[k] = (static_cast<double>(counts[k]) + c * p[k]) / whole;
            }
            for (std::size_t k = 0; k < K; ++k) out[r * K + k] += p[k];
            ++used[r];
        };
    });
}

template <typename C, typename N>
void forest_truth(const CodedRows<C>& rows, const Forest<N>& forest, const std::uint32_t* y, const std::vector<double>& cs, Bags bags,
                  double* out, std::uint32_t* used, int threads) {
    const std::size_t K = forest.K, G = cs.size();
    for_each(rows, forest, bags, threads, [&] {
        return [&, p = std::vector<double>(G)](const One<N>& tree, std::size_t, const C* row, std::size_t r) mutable {
            std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(K));
            for (std::int32_t node = 0; node >= 0; node = next(tree, rows, node, row)) {
                const N* counts = tree.counts + static_cast<std::size_t>(node) * K;
                const double whole = total(counts, K), own = static_cast<double>(counts[y[r]]);
                for (std::size_t g = 0; g < G; ++g)
                    if (whole + cs[g] > 0) p[g] = (own + cs[g] * p[g]) / (whole + cs[g]);
            }
            for (std::size_t g = 0; g < G; ++g) out[r * G + g] += p[g];
            ++used[r];
        };
    });
}

#define POSTERIORI_TREES(C, N)                                                                                                        \
    template void tree_leaves<C, N>(const CodedRows<C>&, const Forest<N>&, std::int32_t*, int);                                        \
    template void forest_sums<C, N>(const CodedRows<C>&, const Forest<N>&, double, Bags, double*, std::uint32_t*, int);                \
    template void forest_truth<C, N>(const CodedRows<C>&, const Forest<N>&, const std::uint32_t*, const std::vector<double>&, Bags,    \
                                     double*, std::uint32_t*, int);
POSTERIORI_TREES(std::uint8_t, float)
POSTERIORI_TREES(std::uint8_t, double)
POSTERIORI_TREES(std::uint16_t, float)
POSTERIORI_TREES(std::uint16_t, double)
#undef POSTERIORI_TREES
template void path_counts<std::uint8_t>(const CodedRows<std::uint8_t>&, const Forest<double>&, const std::uint32_t*, const double*, double*);
template void path_counts<std::uint16_t>(const CodedRows<std::uint16_t>&, const Forest<double>&, const std::uint32_t*, const double*, double*);

}  // namespace posteriori
