// Every candidate shares the configurations π of the parents it is added to. Where all columns have few states, π is a
// bitmap of rows as long as it has many, and the cells of a candidate are the bits it shares with the candidate's own; what
// has few rows is a list of them, and its cells are counted. A table [x][z] is filled for one π at a time.
#include "pairs/families.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pairs/dense.hpp"
#include "pairs/family_score.hpp"
#include "pairs/popcount.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::uint32_t kMissing = 0xffffffffu;
#ifdef __AVX2__
constexpr double kLaneCost = 2.2;  // in cycles, as are the next two
#else
constexpr double kLaneCost = 16.0;
#endif
constexpr double kBitmapCost = 14.0, kRowCost = 2.5, kWordCost = 8.0;

// Below so many rows a list of them is faster to count than bitmaps of n rows.
std::size_t few_rows(std::size_t n) {
    return static_cast<std::size_t>(2.0 * (kBitmapCost + kLaneCost * static_cast<double>(bitmap_words(n) / kLane)) / kRowCost);
}

// The same of a cell, for so many candidates: to list its rows, all words are gone through.
std::size_t few_in_cell(std::size_t n, std::size_t candidates) {
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
std::size_t renumber(const std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& out) {
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

// The table [x][z] of one block after another; `see(table, r, s)` looks at each. Rows and columns that are empty may be left
// out of it where the block has few rows.
template <typename C, typename N> class Tables {
    const FamilyData<C>& data;
    const Blocks& blocks;
    const std::size_t r, s, words = bitmap_words(data.n);
    const C *x, *z;
    const std::uint64_t* bits;
    const bool complete;  // every row has a value of the candidate
    std::vector<N> table;
    std::vector<std::uint32_t> place_x, place_z, seen;

    N worth(std::uint32_t row) const { return data.weights ? static_cast<N>(data.weights[row]) : N{1}; }

    void count(N* row, const Cell& cell) {
        if (!z) {
            row[0] = static_cast<N>(cell.count);
        } else if (cell.bitmap < 0) {
            for (std::uint32_t k = cell.begin; k < cell.end; ++k) {
                const std::uint32_t i = blocks.rows[k], at = z[i];
                if (at < s) row[at] += worth(i);
            }
        } else {
            by_bitmap(row, cell);
        }
    }

    void by_bitmap(N* row, const Cell& cell) const {
        const std::uint64_t* own = blocks.bitmaps.data() + static_cast<std::size_t>(cell.bitmap) * words;
        std::int64_t left = cell.count;
        const std::size_t asked = complete ? s - 1 : s;
        for (std::size_t v = 0; v < asked; ++v) {
            const std::int64_t shared = shared_bits(own, bits + v * words, words);
            row[v] = static_cast<N>(shared), left -= shared;
        }
        if (complete) row[s - 1] = static_cast<N>(left);
    }

    // The numbers of the values that occur, in the order of their first rows.
    static std::uint32_t place(std::vector<std::uint32_t>& places, std::uint32_t value, std::uint32_t& used) {
        if (places[value] == kMissing) places[value] = used++;
        return places[value];
    }

    template <typename See> void few(const Block& block, See&& see) {
        std::uint32_t wide = 0, tall = 0;
        const std::size_t stride = std::min<std::size_t>(s, block.end - block.begin);
        if (place_x.empty()) place_x.assign(r, kMissing), place_z.assign(s, kMissing);
        seen.clear();
        for (std::uint32_t k = block.begin; k < block.end; ++k) {
            const std::uint32_t i = blocks.rows[k], at = z ? z[i] : 0;
            if (x[i] >= r || at >= s) continue;
            table[place(place_x, x[i], tall) * stride + place(place_z, at, wide)] += worth(i);
            seen.push_back(i);
        }
        for (const auto i : seen) place_x[x[i]] = kMissing, place_z[z ? z[i] : 0] = kMissing;
        if (tall) see(table.data(), tall, wide, stride);
        std::fill_n(table.begin(), tall * stride, N{0});
    }

  public:
    Tables(const FamilyData<C>& data, const Blocks& blocks, int child, int more, const std::int64_t first)
        : data(data), blocks(blocks), r(data.sizes[static_cast<std::size_t>(child)]),
          s(more < 0 ? 1 : data.states[static_cast<std::size_t>(more)]), x(data.column(child)),
          z(more < 0 ? nullptr : data.column(more)),
          bits(more < 0 ? nullptr : data.bits + static_cast<std::size_t>(first) * words),
          complete(!z || data.is_full(more)) {}

    template <typename See> void each(See&& see) {
        for (const auto& block : blocks.all) {
            const std::size_t k = block.end - block.begin, need = block.cells < 0 ? std::min(k, r) * std::min(k, s) : r * s;
            if (block.cells < 0 && 4 * k < r * s) {
                if (table.size() < need) table.resize(need, N{0});
                few(block, see);
                continue;
            }
            if (table.size() < r * s) table.resize(r * s, N{0});
            if (block.cells >= 0)
                for (std::size_t v = 0; v < r; ++v) count(table.data() + v * s, blocks.cells[static_cast<std::size_t>(block.cells) + v]);
            else
                for (std::uint32_t at = block.begin; at < block.end; ++at) {
                    const std::uint32_t i = blocks.rows[at], w = z ? z[i] : 0;
                    if (x[i] < r && w < s) table[x[i] * s + w] += worth(i);
                }
            see(table.data(), r, s, s);
            std::fill_n(table.begin(), r * s, N{0});
        }
    }
};

// Runs see(task, blocks, candidate, place of its bitmaps) for every candidate that is no parent, and if `own` for none (task 0);
// for one that is a parent with the blocks of the others.
template <typename C, typename See>
void each_candidate(const FamilyData<C>& data, int child, const std::vector<int>& parents, const std::vector<int>& candidates,
                    int threads, bool own, See&& see) {
    const auto first = bitmap_places(data);
    const auto narrow = [&](int c) { return first[static_cast<std::size_t>(c)] >= 0; };
    const auto is_parent = [&](int c) { return std::find(parents.begin(), parents.end(), c) != parents.end(); };
    const bool added = own || !std::all_of(candidates.begin(), candidates.end(), is_parent);
    const Blocks some = added ? blocks_of(data, first, child, parents, candidates.size(), true) : Blocks{};
    const bool listed = std::all_of(some.all.begin(), some.all.end(), [](const Block& b) { return b.cells < 0; });
    Blocks lists;
    if (!listed && !std::all_of(candidates.begin(), candidates.end(), narrow)) lists = blocks_of(data, first, child, parents, candidates.size(), false);
    parallel_for(candidates.size() + own, threads, [&](std::size_t place) {
        const std::size_t task = place + !own;
        const int candidate = task ? candidates[task - 1] : -1;
        if (is_parent(candidate)) {
            std::vector<int> fewer;
            std::copy_if(parents.begin(), parents.end(), std::back_inserter(fewer), [&](int p) { return p != candidate; });
            see(task, blocks_of(data, first, child, fewer, 0, true), -1, -1);
        } else {
            const bool bitmaps = candidate < 0 || listed || narrow(candidate);
            see(task, bitmaps ? some : lists, candidate, candidate < 0 ? -1 : first[static_cast<std::size_t>(candidate)]);
        }
    });
}

}  // namespace

std::size_t bitmap_words(std::size_t n) { return (n + 64 * kLane - 1) / (64 * kLane) * kLane; }

std::size_t bitmap_count(const std::vector<std::uint32_t>& states) {
    std::size_t total = 0;
    for (const auto s : states) total += s <= kNarrow ? s : 0;
    return total;
}

template <typename C>
void value_bitmaps(const C* codes, std::size_t n, const std::vector<std::uint32_t>& states, std::uint64_t* out, int threads) {
    const std::size_t words = bitmap_words(n);
    std::vector<std::size_t> first(states.size(), 0);
    for (std::size_t j = 1; j < states.size(); ++j) first[j] = first[j - 1] + (states[j - 1] <= kNarrow ? states[j - 1] : 0);
    parallel_for(states.size(), threads, [&](std::size_t j) {
        if (states[j] > kNarrow) return;
        const C* x = codes + j * n;
        for (std::uint32_t v = 0; v < states[j]; ++v) {
            std::uint64_t* bits = out + (first[j] + v) * words;
            std::fill_n(bits, words, std::uint64_t{0});
            for (std::size_t w = 0; w < (n + 63) / 64; ++w) {
                const std::size_t count = std::min<std::size_t>(64, n - w * 64);
                if constexpr (sizeof(C) == 1) {
                    if (count == 64) {
                        bits[w] = equal_bits(x + w * 64, static_cast<std::uint8_t>(v));
                        continue;
                    }
                }
                for (std::size_t i = 0; i < count; ++i) bits[w] |= static_cast<std::uint64_t>(x[w * 64 + i] == v) << i;
            }
        }
    });
}

template <typename C>
void toggle_scores(const FamilyData<C>& data, int child, const std::vector<int>& parents, const std::vector<int>& candidates,
                   const Scoring& how, double* out, int threads, bool own) {
    const double r = data.sizes[static_cast<std::size_t>(child)];
    const auto left = dense_scores(data, child, parents, candidates, how, out, threads, own);
    if (left.empty()) return;
    std::vector<int> others;  // those left
    std::vector<std::size_t> places{0};
    for (const auto place : left)
        if (place) others.push_back(candidates[place - 1]), places.push_back(place);
    each_candidate(data, child, parents, others, threads, left[0] == 0,
                   [&](std::size_t task, const Blocks& blocks, int candidate, std::int64_t place) {
                       Adder add{how, r, blocks.q * (candidate < 0 ? 1.0 : data.states[static_cast<std::size_t>(candidate)])};
                       double sum = 0.0;
                       const auto see = [&](const auto* table, std::size_t rows, std::size_t columns, std::size_t stride) {
                           sum += add(table, rows, columns, stride);
                       };
                       if (data.weights)
                           Tables<C, double>(data, blocks, child, candidate, place).each(see);
                       else
                           Tables<C, std::int32_t>(data, blocks, child, candidate, place).each(see);
                       out[places[task]] = sum - add.price();
                   });
}

template <typename C> void look_at_columns(FamilyData<C>& data, int threads) {
    std::vector<char> full(data.states.size());
    parallel_for(full.size(), threads, [&](std::size_t j) { full[j] = data.is_full(static_cast<int>(j)); });
    data.full.assign(full.begin(), full.end());
}

template <typename C>
void g_tests(const FamilyData<C>& data, int x, const std::vector<int>& given, const std::vector<int>& candidates,
             const Scoring& how, double* out, int threads) {
    const XLogX x_log_x{how.x_log_x, how.most};
    each_candidate(data, x, given, candidates, threads, false,
                   [&](std::size_t task, const Blocks& blocks, int candidate, std::int64_t place) {
                       double g = 0.0, freedom = 0.0;
                       std::vector<double> below;
                       const auto see = [&](const auto* table, std::size_t rows, std::size_t columns, std::size_t stride) {
                           below.assign(columns, 0.0);
                           double whole = 0.0, tall = 0.0, wide = 0.0;
                           for (std::size_t a = 0; a < rows; ++a) {
                               double own = 0.0;
                               for (std::size_t b = 0; b < columns; ++b) {
                                   const double n = static_cast<double>(table[a * stride + b]);
                                   own += n, below[b] += n;
                                   g += x_log_x(n);
                               }
                               g -= x_log_x(own);
                               whole += own, tall += own > 0.0;
                           }
                           for (const double n : below) g -= x_log_x(n), wide += n > 0.0;
                           g += x_log_x(whole);
                           if (whole > 0.0) freedom += (tall - 1.0) * (wide - 1.0);
                       };
                       if (data.weights)
                           Tables<C, double>(data, blocks, x, candidate, place).each(see);
                       else
                           Tables<C, std::int32_t>(data, blocks, x, candidate, place).each(see);
                       out[2 * (task - 1)] = 2.0 * g, out[2 * (task - 1) + 1] = freedom;
                   });
}

#define POSTERIORI_FAMILIES(C)                                                                                              \
    template void value_bitmaps<C>(const C*, std::size_t, const std::vector<std::uint32_t>&, std::uint64_t*, int);          \
    template void toggle_scores<C>(const FamilyData<C>&, int, const std::vector<int>&, const std::vector<int>&,             \
                                   const Scoring&, double*, int, bool);                                                     \
    template void look_at_columns<C>(FamilyData<C>&, int);                                                                  \
    template void g_tests<C>(const FamilyData<C>&, int, const std::vector<int>&, const std::vector<int>&, const Scoring&,   \
                             double*, int);
POSTERIORI_FAMILIES(std::uint8_t)
POSTERIORI_FAMILIES(std::uint16_t)
POSTERIORI_FAMILIES(std::uint32_t)

}  // namespace posteriori
