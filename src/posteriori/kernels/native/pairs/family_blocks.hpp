// The rows of a family parted by the configurations of the parents, as lists or as bitmaps.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "pairs/families.hpp"
#include "pairs/popcount.hpp"

namespace posteriori {

constexpr std::uint32_t kMissing = 0xffffffffu;
#ifdef __AVX2__
constexpr double kLaneCost = 2.2;  // in cycles, as are the next two
#else
constexpr double kLaneCost = 16.0;
#endif
constexpr double kBitmapCost = 14.0, kRowCost = 2.5, kWordCost = 8.0;

// Below so many rows a list of them is faster to count than bitmaps of n rows.
inline std::size_t few_rows(std::size_t n) {
    return static_cast<std::size_t>(2.0 * (kBitmapCost + kLaneCost * static_cast<double>(bitmap_words(n) / kLane)) / kRowCost);
}

// The same of a cell, for so many candidates: to list its rows, all words are gone through.
inline std::size_t few_in_cell(std::size_t n, std::size_t candidates) {
    const double words = static_cast<double>(bitmap_words(n)), uses = static_cast<double>(std::max<std::size_t>(candidates, 1));
    const double saved = 2.0 * (kBitmapCost + kLaneCost * words / kLane) - kWordCost * words / uses;
    return saved > 0.0 ? static_cast<std::size_t>(saved / kRowCost) : 0;
}

template <typename C> std::vector<std::int64_t> bitmap_places(const FamilyData<C>& data) {
    std::vector<std::int64_t> first(data.states.size(), -1);
    std::int64_t next = 0;
    for (std::size_t j = 0; data.bits && j < first.size(); ++j)
        if (data.states[j] <= kNarrow) first[j] = next, next += data.states[j];
    return first;
}

// Rows [begin, end) of one value of the child, or a bitmap of them.
struct Cell {
    std::uint32_t begin, end;
    std::int32_t bitmap;
    std::uint32_t count;
};

// One configuration of the parents: its rows, or from `cells` on one cell for each value of the child.
struct Block {
    std::uint32_t begin, end;
    std::int32_t cells;
};

struct Blocks {
    std::vector<Block> all;
    std::vector<Cell> cells;
    std::vector<std::uint32_t> rows;
    std::vector<std::uint64_t> bitmaps;
    double q = 1.0;
};

// Numbers 0 .. as many as there are, in the order of the old ones.
inline std::size_t renumber(const std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& out) {
    std::vector<std::uint64_t> seen;
    seen.reserve(keys.size());
    for (const auto key : keys)
        if (key != ~std::uint64_t{0}) seen.push_back(key);
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (std::size_t i = 0; i < keys.size(); ++i)
        out[i] = keys[i] == ~std::uint64_t{0}
                     ? kMissing
                     : static_cast<std::uint32_t>(std::lower_bound(seen.begin(), seen.end(), keys[i]) - seen.begin());
    return seen.size();
}

// Finds the blocks of a child's parents.
template <typename C> struct Divider {
    const FamilyData<C>& data;
    const std::vector<std::int64_t>& first;
    int child;
    const std::vector<int>& parents;
    std::size_t candidates;  // that the blocks are for; without any the cells have a count and no rows
    Blocks found{};
    std::size_t words = bitmap_words(data.n), few = few_rows(data.n), few_here = few_in_cell(data.n, candidates);
    std::vector<std::uint64_t> stack{}, keys{};
    std::vector<std::uint32_t> list{}, of{}, next{};

    std::uint32_t states(int j) const { return data.states[static_cast<std::size_t>(j)]; }
    const std::uint64_t* bitmap(int j, std::uint32_t value) const {
        return data.bits + (static_cast<std::size_t>(first[static_cast<std::size_t>(j)]) + value) * words;
    }

    Blocks by_rows() {
        list.resize(data.n);
        std::iota(list.begin(), list.end(), 0u);
        sorted(0);
        return std::move(found);
    }

    // Blocks of the rows on the list, by the parents from `depth` on.
    void sorted(std::size_t depth) {
        const std::vector<std::uint32_t>& rows = list;
        const std::size_t n = rows.size(), most = std::max<std::size_t>(256, 2 * n);
        of.assign(n, 0);
        std::size_t used = 1;
        for (std::size_t k = depth; k < parents.size(); ++k) {
            const std::uint32_t r = states(parents[k]);
            const C* x = data.column(parents[k]);
            if (static_cast<double>(used) * r <= static_cast<double>(most)) {
                for (std::size_t i = 0; i < n; ++i)
                    of[i] = of[i] == kMissing || x[rows[i]] >= r ? kMissing : of[i] * r + static_cast<std::uint32_t>(x[rows[i]]);
                used *= r;
            } else {
                keys.resize(n);
                for (std::size_t i = 0; i < n; ++i)
                    keys[i] = of[i] == kMissing || x[rows[i]] >= r ? ~std::uint64_t{0} : std::uint64_t{of[i]} * r + x[rows[i]];
                used = renumber(keys, of);
            }
        }
        next.assign(used + 1, 0);
        for (const auto c : of)
            if (c != kMissing) ++next[c + 1];
        const auto start = static_cast<std::uint32_t>(found.rows.size());
        for (std::size_t c = 0; c < used; ++c) {
            if (next[c + 1]) found.all.push_back({start + next[c], start + next[c] + next[c + 1], -1});
            next[c + 1] += next[c];
        }
        found.rows.resize(start + next[used]);
        for (std::size_t i = 0; i < n; ++i)
            if (of[i] != kMissing) found.rows[start + next[of[i]]++] = rows[i];
    }

    Blocks by_bitmaps() {
        stack.assign((parents.size() + 2) * words, 0);
        for (std::size_t i = 0; i < data.n / 64; ++i) stack[i] = ~std::uint64_t{0};
        if (data.n % 64) stack[data.n / 64] = (std::uint64_t{1} << data.n % 64) - 1;
        split(0, data.n);
        return std::move(found);
    }

    // Puts `count` rows, those of a bitmap, after the others.
    static void append(std::vector<std::uint32_t>& rows, const std::uint64_t* bits, std::size_t count) {
        rows.resize(rows.size() + count);
        std::uint32_t *to = rows.data() + rows.size() - count, *const end = to + count;
        for (std::size_t w = 0; to < end; ++w)
            for (std::uint64_t left = bits[w]; left; left &= left - 1)
                *to++ = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(__builtin_ctzll(left)));
    }

    // The rows of bitmap `depth` of the stack, which has room for one more, by the parents from `depth` on.
    void split(std::size_t depth, std::size_t count) {
        const std::uint64_t* whole = stack.data() + depth * words;
        if (count < few) {
            list.clear();
            append(list, whole, count);
            if (count) sorted(depth);
            return;
        }
        std::uint64_t* part = stack.data() + (depth + 1) * words;
        const bool last = depth == parents.size();
        const int j = last ? child : parents[depth];
        const std::uint32_t values = last ? data.sizes[static_cast<std::size_t>(child)] : states(j);
        if (last) found.all.push_back({0, 0, static_cast<std::int32_t>(found.cells.size())});
        for (std::uint32_t v = 0; v < values; ++v) {
            const std::uint64_t* own = bitmap(j, v);
            const auto here = static_cast<std::size_t>(shared_bits(whole, own, words));
            if (!last || (here && candidates))
                for (std::size_t w = 0; w < words; ++w) part[w] = whole[w] & own[w];
            if (!last) {
                split(depth + 1, here);
                continue;
            }
            const auto begin = static_cast<std::uint32_t>(found.rows.size());
            std::int32_t kept = -1;
            if (!here || !candidates) {
            } else if (here >= few_here) {
                kept = static_cast<std::int32_t>(found.bitmaps.size() / words);
                found.bitmaps.insert(found.bitmaps.end(), part, part + words);
            } else {
                append(found.rows, part, here);
            }
            found.cells.push_back({begin, static_cast<std::uint32_t>(found.rows.size()), kept, static_cast<std::uint32_t>(here)});
        }
    }
};

template <typename C>
Blocks blocks_of(const FamilyData<C>& data, const std::vector<std::int64_t>& first, int child, const std::vector<int>& parents,
                 std::size_t candidates, bool bitmaps) {
    Divider<C> divider{data, first, child, parents, candidates};
    for (const int j : parents) bitmaps = bitmaps && first[static_cast<std::size_t>(j)] >= 0;
    bitmaps = bitmaps && !data.weights && first[static_cast<std::size_t>(child)] >= 0;
    Blocks found = bitmaps ? divider.by_bitmaps() : divider.by_rows();
    for (const int j : parents) found.q *= data.states[static_cast<std::size_t>(j)];
    return found;
}

}  // namespace posteriori
