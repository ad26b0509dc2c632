// Every candidate shares the configurations π of the parents it is added to. Where all columns have few states, π is a
// bitmap of rows as long as it has many, and the cells of a candidate are the bits it shares with the candidate's own; what
// has few rows is a list of them, and its cells are counted. A table [x][z] is filled for one π at a time.
#include "pairs/families.hpp"

#include <algorithm>

#include "pairs/dense.hpp"
#include "pairs/family_blocks.hpp"
#include "pairs/family_score.hpp"
#include "pairs/popcount.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

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
