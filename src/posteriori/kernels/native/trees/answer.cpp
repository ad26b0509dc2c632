// Where rows end in a tree, and what the counts along their way say.
#include <algorithm>
#include <vector>

#include "backoff.hpp"
#include "boost.hpp"
#include "threads.hpp"
#include "trees.hpp"

namespace posteriori {

namespace {

constexpr std::size_t BLOCK = 256;  // rows whose codes are laid row by row, and stay near
constexpr std::size_t TEAM = 8;     // of rows that walk side by side
constexpr std::size_t ROOM = std::size_t{1} << 20;  // posteriors of nodes held at once: they stay near

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

// Rows whose codes lie row by row.
template <typename C> struct Block {
    std::size_t from, to, d;
    std::vector<C> codes;

    Block(const CodedRows<C>& rows, std::size_t b)
        : from(b * BLOCK), to(std::min(rows.n, from + BLOCK)), d(rows.sizes.size()), codes((to - from) * d) {
        for (std::size_t j = 0; j < d; ++j) {
            const C* column = rows.column(static_cast<int>(j));
            for (std::size_t r = from; r < to; ++r) codes[(r - from) * d + j] = column[r];
        }
    }

    const C* row(std::size_t r) const { return codes.data() + (r - from) * d; }

    // The rows that tree t has not seen.
    std::size_t asked(Bags bags, std::size_t t, std::size_t words, std::uint32_t* who) const {
        std::size_t m = 0;
        for (std::size_t r = from; r < to; ++r) {
            who[m] = static_cast<std::uint32_t>(r);
            m += !bags || !(bags[t * words + r / 64] >> (r % 64) & 1);
        }
        return m;
    }

    // Where rows end. TEAM of them walk side by side, so that one waits for memory while the others go on.
    template <typename N> void ends(const One<N>& tree, const CodedRows<C>& rows, const std::uint32_t* who, std::size_t m, std::int32_t* at) const {
        for (std::size_t i = 0; i < m; i += TEAM) {
            const std::size_t team = std::min(TEAM, m - i);
            bool walks[TEAM];
            std::fill(walks, walks + team, true), std::fill(at + i, at + i + team, 0);
            for (bool any = true; any;) {
                any = false;
                for (std::size_t q = 0; q < team; ++q) {
                    if (!walks[q]) continue;
                    const std::int32_t then = next(tree, rows, at[i + q], row(who[i + q]));
                    walks[q] = then >= 0, any |= walks[q];
                    if (then >= 0) at[i + q] = then;
                }
            }
        }
    }
};

// work(tree, t, codes of a row, r) for every tree and row, blocks of rows in threads, the trees of a row in order.
template <typename C, typename N, typename Work>
void for_each(const CodedRows<C>& rows, const Forest<N>& forest, Bags bags, int threads, Work&& work) {
    const std::size_t words = (rows.n + 63) / 64;
    parallel_for((rows.n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
        const Block<C> block(rows, b);
        std::vector<std::uint32_t> who(BLOCK);
        auto step = work();
        for (std::size_t t = 0; t < forest.trees; ++t) {
            const One<N> tree(forest, t);
            const std::size_t m = block.asked(bags, t, words, who.data());
            for (std::size_t i = 0; i < m; ++i) step(tree, t, block.row(who[i]), who[i]);
        }
    });
}

template <typename N> double total(const N* counts, std::size_t K) {
    double sum = 0;
    for (std::size_t k = 0; k < K; ++k) sum += static_cast<double>(counts[k]);
    return sum;
}

// c_l/c of a node.
template <typename N> double times(const One<N>& tree, std::size_t node, double between) {
    return node == 0 || tree.column[node] < 0 ? 1.0 : between;
}

// p_{l−1} becomes p_l at a node.
template <typename N> void step(const One<N>& tree, std::size_t node, std::size_t K, double c, double between, double* p) {
    const N* counts = tree.counts + node * K;
    c *= times(tree, node, between);
    lean(K, [&](std::size_t k) { return static_cast<double>(counts[k]); }, total(counts, K), [c](std::size_t) { return c; }, p);
}

// p at the end of a row's way.
template <typename C, typename N>
void way(const One<N>& tree, const CodedRows<C>& rows, const C* row, std::size_t K, double c, double between, double* p) {
    std::fill(p, p + K, 1.0 / static_cast<double>(K));
    for (std::int32_t node = 0; node >= 0; node = next(tree, rows, node, row)) step(tree, static_cast<std::size_t>(node), K, c, between, p);
}

void add_softmax(const float* F, std::vector<double>& p, double shares, double* out) {
    softmax(F, static_cast<int>(p.size()), p.data());
    for (std::size_t k = 0; k < p.size(); ++k) out[k] += p[k] / shares;
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

namespace {

// P[node][class] of a tree, parents first.
template <typename N> void posteriors(const One<N>& tree, std::size_t nodes, std::size_t K, double c, double between, double* said) {
    std::fill(said, said + K, 1.0 / static_cast<double>(K));
    for (std::size_t i = 0; i < nodes; ++i) {
        double* own = said + i * K;  // what the node above says, till now
        step(tree, i, K, c, between, own);
        if (tree.column[i] < 0) continue;
        std::copy(own, own + K, said + static_cast<std::size_t>(tree.child[i]) * K);
        std::copy(own, own + K, said + static_cast<std::size_t>(tree.child[i] + 1) * K);
    }
}

}  // namespace

template <typename C, typename N>
void forest_sums(const CodedRows<C>& rows, const Forest<N>& forest, double c, double between, Bags bags, double* out, std::uint32_t* used,
                 int threads) {
    const std::size_t K = forest.K, words = (rows.n + 63) / 64;
    const auto nodes = [&](std::size_t t) { return static_cast<std::size_t>(forest.starts[t + 1] - forest.starts[t]); };
    const auto known = [&](std::size_t t) { return nodes(t) <= 4 * rows.n; };  // worth a posterior for every node
    std::vector<double> said;
    for (std::size_t first = 0, last = 0; first < forest.trees; first = last) {
        std::vector<std::size_t> starts;
        std::size_t room = 0;
        for (; last < forest.trees && (last == first || room < ROOM); ++last) {
            starts.push_back(room);
            room += known(last) ? nodes(last) * K : 0;
        }
        if (said.size() < room) said.resize(room);
        parallel_for(last - first, threads, [&](std::size_t t) {
            if (known(first + t)) posteriors(One<N>(forest, first + t), nodes(first + t), K, c, between, said.data() + starts[t]);
        });
        parallel_for((rows.n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
            const Block<C> block(rows, b);
            std::vector<std::uint32_t> who(BLOCK);
            std::vector<std::int32_t> at(BLOCK);
            std::vector<double> p(K);
            for (std::size_t t = first; t < last; ++t) {
                const One<N> tree(forest, t);
                const std::size_t m = block.asked(bags, t, words, who.data());
                if (known(t)) block.ends(tree, rows, who.data(), m, at.data());
                for (std::size_t i = 0; i < m; ++i) {
                    const std::uint32_t r = who[i];
                    const double* answer = p.data();
                    if (known(t))
                        answer = said.data() + starts[t - first] + static_cast<std::size_t>(at[i]) * K;
                    else
                        way(tree, rows, block.row(r), K, c, between, p.data());
                    for (std::size_t k = 0; k < K; ++k) out[r * K + k] += answer[k];
                    ++used[r];
                }
            }
        });
    }
}

template <typename C, typename N>
void forest_truth(const CodedRows<C>& rows, const Forest<N>& forest, const std::uint32_t* y, const std::vector<double>& cs, double between,
                  Bags bags, double* out, std::uint32_t* used, int threads) {
    const std::size_t K = forest.K, G = cs.size();
    std::vector<double> whole(static_cast<std::size_t>(forest.starts[forest.trees]));  // N of each node
    parallel_for(forest.trees, threads, [&](std::size_t t) {
        for (std::int64_t i = forest.starts[t]; i < forest.starts[t + 1]; ++i) whole[i] = total(forest.counts + i * forest.K, K);
    });
    for_each(rows, forest, bags, threads, [&] {
        return [&, p = std::vector<double>(G)](const One<N>& tree, std::size_t t, const C* row, std::size_t r) mutable {
            std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(K));
            for (std::int32_t node = 0; node >= 0; node = next(tree, rows, node, row)) {
                const N* counts = tree.counts + static_cast<std::size_t>(node) * K;
                const double own = static_cast<double>(counts[y[r]]), more = times(tree, static_cast<std::size_t>(node), between);
                lean(G, [own](std::size_t) { return own; }, whole[forest.starts[t] + node], [&](std::size_t g) { return more * cs[g]; }, p.data());
            }
            for (std::size_t g = 0; g < G; ++g) out[r * G + g] += p[g];
            ++used[r];
        };
    });
}

template <typename C>
void boosted_posterior(const CodedRows<C>& rows, const Forest<float>& forest, const float* start, std::size_t folds, int K, double* out,
                       int threads) {
    const std::size_t V = forest.K, rounds = forest.trees / folds;
    const auto shares = static_cast<double>(folds);
    std::vector<double> before(K);
    for (std::size_t r = 0; r < rows.n && rounds == 0; ++r)
        for (std::size_t f = 0; f < folds; ++f) add_softmax(start + f * V, before, shares, out + r * K);
    for_each(rows, forest, nullptr, threads, [&] {
        return [&, F = std::vector<float>(BLOCK * V), p = before](const One<float>& tree, std::size_t t, const C* row, std::size_t r) mutable {
            float* own = F.data() + r % BLOCK * V;
            if (t % rounds == 0) std::copy_n(start + t / rounds * V, V, own);
            std::int32_t node = 0;
            for (std::int32_t then = 0; then >= 0; then = next(tree, rows, node, row)) node = then;
            for (std::size_t v = 0; v < V; ++v) own[v] += tree.counts[static_cast<std::size_t>(node) * V + v];
            if ((t + 1) % rounds == 0) add_softmax(own, p, shares, out + r * K);
        };
    });
}

template void boosted_posterior<std::uint8_t>(const CodedRows<std::uint8_t>&, const Forest<float>&, const float*, std::size_t, int, double*, int);
template void boosted_posterior<std::uint16_t>(const CodedRows<std::uint16_t>&, const Forest<float>&, const float*, std::size_t, int, double*, int);

#define POSTERIORI_TREES(C, N)                                                                                                        \
    template void tree_leaves<C, N>(const CodedRows<C>&, const Forest<N>&, std::int32_t*, int);                                        \
    template void forest_sums<C, N>(const CodedRows<C>&, const Forest<N>&, double, double, Bags, double*, std::uint32_t*, int);        \
    template void forest_truth<C, N>(const CodedRows<C>&, const Forest<N>&, const std::uint32_t*, const std::vector<double>&, double,  \
                                     Bags, double*, std::uint32_t*, int);
POSTERIORI_TREES(std::uint8_t, float)
POSTERIORI_TREES(std::uint8_t, double)
POSTERIORI_TREES(std::uint16_t, float)
POSTERIORI_TREES(std::uint16_t, double)
#undef POSTERIORI_TREES
template void path_counts<std::uint8_t>(const CodedRows<std::uint8_t>&, const Forest<double>&, const std::uint32_t*, const double*, double*);
template void path_counts<std::uint16_t>(const CodedRows<std::uint16_t>&, const Forest<double>&, const std::uint32_t*, const double*, double*);

}  // namespace posteriori
