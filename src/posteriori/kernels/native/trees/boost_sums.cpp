// Sums of derivatives in the cells of all columns, and what splits between cells gain.
#include <algorithm>

#include "boost.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {

constexpr std::size_t NEAR = 32768;      // bytes of sums that stay near
constexpr int FEWEST = 8;                // columns side by side at least
constexpr std::size_t ROOM = 64u << 20;  // bytes of sums that a tree may keep
constexpr int FEW = 20;                  // values whose cells are emptied at little cost
constexpr int AHEAD = 12;                // rows whose codes are fetched before they are needed
constexpr std::size_t FORK = 200'000;    // sums that are worth a thread

// Numbers that one instruction takes together, or two where they are too wide for it.
using Lanes __attribute__((vector_size(32), may_alias)) = std::uint32_t;
using Doubles __attribute__((vector_size(32))) = double;
using Four __attribute__((vector_size(16), may_alias)) = std::int32_t;

}  // namespace

template <typename C> Tiles<C>::Tiles(const CodedRows<C>& rows, std::size_t near, std::size_t kept, const Boosting& how, int threads) {
    const int d = rows.d();
    cells.push_back(0);
    for (const auto size : rows.sizes) cells.push_back(cells.back() + size);
    fits = std::max(100, static_cast<std::int32_t>(rows.n >> 15) + 1);  // n · 64,000/fits, the sum of all h, is below 2³¹
    worth = cells.back() * kept * std::min(how.depth + 1, 16) <= ROOM && cells.back() < rows.n * d;
    if (!worth) return;
    codes.resize(rows.n * d), most.resize(d);
    for (int first = 0; first < d;) {
        int last = first + 1;
        while (last < d && ((cells[last + 1] - cells[first]) * near <= NEAR || last - first < FEWEST)) ++last;
        tiles.push_back({first, last});
        first = last;
    }
    parallel_for(tiles.size(), threads, [&](std::size_t t) {
        const auto [first, last] = tiles[t];
        std::vector<std::int32_t> counts(cells[last] - cells[first]);
        for (std::size_t from = 0; from < rows.n; from += 1024)  // rows that stay near while each column is laid among them
            for (int j = first; j < last; ++j) {
                const C* column = rows.column(j);
                C* to = codes.data() + j;
                std::int32_t* count = counts.data() + (cells[j] - cells[first]);
                for (std::size_t r = from, end = std::min(rows.n, from + 1024); r < end; ++r) to[r * d] = column[r], ++count[column[r]];
            }
        for (int j = first; j < last; ++j)
            most[j] = *std::max_element(counts.begin() + (cells[j] - cells[first]), counts.begin() + (cells[j + 1] - cells[first]));
    });
    for (int j = 0; j < d; ++j)
        if (rows.sizes[j] > FEW) fits = std::max(fits, std::min(most[j], 1000));
}

namespace {

// Work on some of the tiles at a desk, as many at once as there are desks, if that is worth it: work(first, last, desk).
template <typename C, typename Work> void at_desks(const Tiles<C>& tiles, std::size_t sums, std::vector<Desk<C>>& desks, Work&& work) {
    const std::size_t all = tiles.tiles.size(), parts = sums > FORK ? std::min(all, desks.size()) : 1;
    parallel_for(parts, static_cast<int>(parts), [&](std::size_t part) { work(all * part / parts, all * (part + 1) / parts, desks[part]); });
}

// The codes of m rows in the columns left … right, [row][column], and what else is fetched, and then taken, for each.
template <typename C, typename Fetch, typename Take>
void gather(const Tiles<C>& tiles, std::size_t left, std::size_t right, const std::int32_t* rows, std::int32_t m, Desk<C>& desk,
            Fetch&& fetch, Take&& take) {
    const std::size_t d = tiles.most.size(), width = right - left;
    const C* codes = tiles.codes.data() + left;
    desk.codes.resize(std::max(desk.codes.size(), m * width));
    for (std::int32_t i = 0; i < m; ++i) {
        const std::size_t next = rows[std::min(i + AHEAD, m - 1)], r = rows[i];
        __builtin_prefetch(codes + next * d);
        fetch(next);
        take(i, r);
        std::copy_n(codes + r * d, width, desk.codes.data() + i * width);
    }
}

// A number of values that the compiler knows is twice as fast.
template <bool minus, int KNOWN, typename C>
void add_rows(const Slopes& slopes, const Tiles<C>& tiles, int V, const std::int32_t* rows, std::int32_t from, std::int32_t to, Sums* cells,
              std::vector<Desk<C>>& desks) {
    constexpr std::int32_t SOME = 1024;  // rows that stay near
    const int values = KNOWN > 0 ? KNOWN : V;
    at_desks(tiles, (to - from) * tiles.most.size() * V, desks, [&](std::size_t one, std::size_t end, Desk<C>& desk) {
        const std::size_t left = tiles.tiles[one].first, right = tiles.tiles[end - 1].last, wide = right - left;
        desk.sums.resize(static_cast<std::size_t>(SOME) * values);
        for (std::int32_t at = from; at < to; at += SOME) {
            const std::int32_t m = std::min(to - at, SOME);
            const auto take = [&](std::size_t i, std::size_t r) {
                for (int v = 0; v < values; ++v) desk.sums[i * values + v] = slopes.sums(r, v);
            };
            gather(tiles, left, right, rows + at, m, desk, [&](std::size_t r) { slopes.fetch(r); }, take);
            for (std::size_t t = one; t < end; ++t) {
                const std::size_t first = tiles.tiles[t].first, width = tiles.tiles[t].last - first;
                const std::size_t* base = tiles.cells.data() + first;
                const C* row = desk.codes.data() + (first - left);
                const Sums* __restrict own = desk.sums.data();
                for (std::int32_t i = 0; i < m; ++i, row += wide, own += values)
                    for (std::size_t j = 0; j < width; ++j) {
                        Sums* __restrict cell = cells + (base[j] + row[j]) * values;
                        for (int v = 0; v < values; ++v) {
                            if (minus)
                                cell[v] -= own[v];
                            else
                                cell[v] += own[v];
                        }
                    }
            }
        }
    });
}

}  // namespace

template <typename C>
void fill(const Slopes& slopes, const Tiles<C>& tiles, int V, const std::int32_t* rows, std::int32_t from, std::int32_t to, Sums* plus,
          Sums* minus, std::vector<Desk<C>>& desks) {
    const std::size_t all = tiles.cells.back() * V;
    const auto add = [&](auto known) {
        constexpr int KNOWN = decltype(known)::value;
        if (!plus) return add_rows<true, KNOWN>(slopes, tiles, V, rows, from, to, minus, desks);
        std::fill(plus, plus + all, Sums{});
        add_rows<false, KNOWN>(slopes, tiles, V, rows, from, to, plus, desks);
        for (std::size_t c = 0; minus && c < all; ++c) minus[c] -= plus[c];
    };
    switch (V) {
        case 1: return add(std::integral_constant<int, 1>{});
        case 3: return add(std::integral_constant<int, 3>{});
        case 5: return add(std::integral_constant<int, 5>{});
        default: return add(std::integral_constant<int, 0>{});
    }
}

namespace {

// The words of m rows to the cells of a few columns. A width that the compiler knows needs no loop.
template <std::size_t KNOWN, typename C>
void add_words(const Row* words, std::size_t m, const C* codes, std::size_t stride, Row* const* columns, std::size_t given) {
    const std::size_t width = KNOWN > 0 ? KNOWN : given;
    for (std::size_t i = 0; i < m; ++i, codes += stride) {
        const Lanes own = *reinterpret_cast<const Lanes*>(words + i);
        for (std::size_t j = 0; j < width; ++j) *reinterpret_cast<Lanes*>(columns[j] + codes[j]) += own;
    }
}

template <typename... Given> void add_words(std::size_t width, const Given&... given) {
    switch (width) {
        case 4: return add_words<4>(given..., width);
        case 5: return add_words<5>(given..., width);
        case 6: return add_words<6>(given..., width);
        case 7: return add_words<7>(given..., width);
        case 8: return add_words<8>(given..., width);
        default: return add_words<0>(given..., width);
    }
}

// What the cells of a column have gathered, to and from where sums are kept.
void pour(Row* cell, Eight* plus, Eight* minus, std::size_t first, std::size_t last, std::size_t units, std::size_t u, bool fresh) {
    for (std::size_t c = first; c < last; ++c, ++cell) {
        const Eight sums(*cell);
        *cell = Row{};
        if (minus) minus[c * units + u] -= sums;
        if (plus && fresh) plus[c * units + u] = sums;
        if (plus && !fresh) plus[c * units + u] += sums;
    }
}

}  // namespace

template <typename C>
void fill(const Words& words, const Tiles<C>& tiles, int V, const std::int32_t* rows, std::int32_t from, std::int32_t to, Eight* plus,
          Eight* minus, std::vector<Desk<C>>& desks) {
    const std::size_t units = Words::units(V), d = tiles.most.size();
    // columns whose cells are emptied on the way: `minus` has as many rows of a value, or more
    std::vector<std::uint8_t> crowded(d, 0);
    for (std::size_t j = 0; to - from > words.most && j < d; ++j) {
        crowded[j] = tiles.most[j] > words.most;
        if (!crowded[j] || !minus) continue;
        crowded[j] = 0;
        for (std::size_t c = tiles.cells[j]; c < tiles.cells[j + 1] && !crowded[j]; ++c) crowded[j] = words.rows(minus + c * units) > words.most;
    }
    at_desks(tiles, (to - from) * d * V, desks, [&](std::size_t one, std::size_t end, Desk<C>& desk) {
        const std::size_t left = tiles.tiles[one].first, right = tiles.tiles[end - 1].last, wide = right - left;
        const std::size_t begin = tiles.cells[left], cells = tiles.cells[right] - begin;
        desk.cells.resize(std::max(desk.cells.size(), cells * units));  // [unit][cell]
        desk.words.resize(units * words.most);                          // [unit][row]
        std::vector<Row*> columns(wide * units);
        for (std::size_t u = 0; u < units; ++u)
            for (std::size_t j = 0; j < wide; ++j) columns[u * wide + j] = desk.cells.data() + u * cells + (tiles.cells[left + j] - begin);
        for (std::int32_t at = from; at < to;) {
            const std::int32_t m = std::min(to - at, words.most);
            const bool fresh = at == from;
            const auto fetch = [&](std::size_t r) {
                for (std::size_t u = 0; u < units; u += 2) __builtin_prefetch(words.eights(r) + u);
            };
            const auto take = [&](std::size_t i, std::size_t r) {
                for (std::size_t u = 0; u < units; ++u) desk.words[u * words.most + i] = words.eights(r)[u];
            };
            gather(tiles, left, right, rows + at, m, desk, fetch, take);
            for (std::size_t t = one; t < end; ++t)
                for (std::size_t u = 0; u < units; ++u) {
                    const std::size_t first = tiles.tiles[t].first - left, width = tiles.tiles[t].last - tiles.tiles[t].first;
                    add_words(width, desk.words.data() + u * words.most, m, desk.codes.data() + first, wide, columns.data() + u * wide + first);
                }
            at += m;
            for (std::size_t j = left; j < right; ++j)
                for (std::size_t u = 0; u < units && (crowded[j] || at == to); ++u) {
                    const auto from_cell = tiles.cells[j], to_cell = tiles.cells[j + 1];
                    pour(columns[u * wide + j - left], plus, minus, from_cell, to_cell, units, u, fresh || !crowded[j]);
                }
        }
    });
}

// A²/a + B²/b = (A² b + B² a)/(a b): one division a place.
void split_gains(const Slopes& slopes, const std::vector<Seen<Sums>>& seen, const Sums* total, int V, double lambda, std::size_t first,
                 std::size_t last, double* gains) {
    std::vector<double> space(2 * last);
    double *g = space.data(), *h = g + last;
    for (int v = 0; v < V; ++v) {
        Sums run[1];
        for (std::size_t i = 0; i < last; ++i) {
            *run += seen[i].sums[v];
            g[i] = slopes.G(run, 0), h[i] = slopes.H(run, 0) + lambda;
        }
        const double all = slopes.G(total, v), both = slopes.H(total, v) + 2 * lambda;
        for (std::size_t i = first; i < last; ++i) {
            const double other = all - g[i], rest = both - h[i];
            gains[i] += (g[i] * g[i] * rest + other * other * h[i]) / (h[i] * rest);
        }
    }
}

void split_gains(const Words& words, const std::vector<Seen<Eight>>& seen, const Eight* total, int V, double lambda, std::size_t first,
                 std::size_t last, double* gains) {
    const double per_g = words.of_g(), per_h = words.of_h();
    for (int quarter = 0; quarter * 4 < V; ++quarter) {
        const std::size_t u = quarter / 2, k = quarter % 2 * 4;
        const auto four = [&](const std::int32_t* sums) -> const Four& { return *reinterpret_cast<const Four*>(sums + k); };
        const Doubles all = __builtin_convertvector(four(total[u].g), Doubles) * per_g;
        const Doubles both = __builtin_convertvector(four(total[u].h), Doubles) * per_h + 2 * lambda;
        Four G{}, H{};
        for (std::size_t i = 0; i < last; ++i) {
            G += four(seen[i].sums[u].g), H += four(seen[i].sums[u].h);
            if (i < first) continue;
            const Doubles g = __builtin_convertvector(G, Doubles) * per_g, h = __builtin_convertvector(H, Doubles) * per_h + lambda;
            const Doubles other = all - g, rest = both - h, gain = (g * g * rest + other * other * h) / (h * rest);
            gains[i] += (gain[0] + gain[2]) + (gain[1] + gain[3]);
        }
    }
}

#define POSTERIORI_SUMS(C)                                                                                                            \
    template struct Tiles<C>;                                                                                                         \
    template void fill<C>(const Slopes&, const Tiles<C>&, int, const std::int32_t*, std::int32_t, std::int32_t, Sums*, Sums*,          \
                          std::vector<Desk<C>>&);                                                                                     \
    template void fill<C>(const Words&, const Tiles<C>&, int, const std::int32_t*, std::int32_t, std::int32_t, Eight*, Eight*,         \
                          std::vector<Desk<C>>&);
POSTERIORI_SUMS(std::uint8_t)
POSTERIORI_SUMS(std::uint16_t)
#undef POSTERIORI_SUMS

}  // namespace posteriori
