// start[y] + Σ_j log θ[code_j, y]. Columns are summed in fours, (c₀ + c₁) + (c₂ + c₃), the fours one after the other in groups
// of 256 columns, and the groups added, so that 10⁵ columns lose no digits. Neighbours of few values are joined into one
// look-up, which holds the same sum: a row has the same bits whether it comes alone or among others.
#include <algorithm>
#include <optional>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t GROUP = 256;  // columns summed before they are added to the rest
constexpr std::size_t ROWS = 256;   // rows of a task
constexpr std::size_t BLOCK = 64;   // rows whose places in the look-ups are kept at a time
constexpr std::size_t STRIP = 32;   // columns that are joined alike

std::size_t code_at(const Column& c, std::size_t r) {
    const unsigned char* p = c.at(r);
    switch (c.width) {
        case 1: return *p;
        case 2: return read_code<std::uint16_t>(p);
        case 4: return read_code<std::uint32_t>(p);
        default: return read_code<std::uint64_t>(p);
    }
}

// Row by row, from the table as it is: for a few rows, and for tables larger than the rows.
void score_plain(const Cells& cells, const double* theta, std::size_t K, const Scores& to, std::size_t begin,
                 std::size_t count) {
    const std::size_t d = cells.columns.size();
    const std::vector<double> none(K, 0.0);
    std::vector<double> sums(K);
    auto cell = [&](std::size_t j, std::size_t r) {
        if (j >= d) return none.data();
        const std::size_t code = code_at(cells.columns[j], r), size = cells.size(j);
        if (code >= size) bad_code(j, code, size);
        return theta + (static_cast<std::size_t>(cells.offsets[j]) + code) * K;
    };
    for (std::size_t r = begin; r < begin + count; ++r) {
        double* out = to.out + r * K;
        std::copy_n(to.start + r * to.start_stride, K, out);
        for (std::size_t from = 0; from < d; from += GROUP) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t j = from; j < std::min(d, from + GROUP); j += 4) {
                const double *a = cell(j, r), *b = cell(j + 1, r), *c = cell(j + 2, r), *e = cell(j + 3, r);
                for (std::size_t k = 0; k < K; ++k) sums[k] += (a[k] + b[k]) + (c[k] + e[k]);
            }
            for (std::size_t k = 0; k < K; ++k) out[k] += sums[k];
        }
    }
}

// The tables of 32 columns as vectors of four classes, the last ones padded with zeros. The columns of a four are joined all, in
// pairs, or not: `level` of them make one unit, which has an entry for each combination of their values. A place counts
// numbers (8 bytes) of the table; that of column j's unit is kept in slot(level, j) of the 32 that a row has for a strip.
typedef std::uint16_t Pairs __attribute__((vector_size(32)));

struct Strip {
    std::size_t level = 1, fours = 0;
    std::uint32_t times[STRIP] = {};  // of each column: by how much its next value is further
    std::uint32_t base[STRIP] = {};   // of each unit, at its first column: where its entries begin
    // The same for rows of bytes, of even and of odd columns: those that the matrix does not have are multiplied with 0.
    Pairs times_of[2] = {}, base_of[2] = {};
    Bytes most = all_bytes(255);  // the greatest code
};

std::size_t slot(std::size_t level, std::size_t j) {  // even columns before odd ones; of a pair or a four that of its first
    return level == 1 ? j / 2 + j % 2 * (STRIP / 2) : level == 2 ? j / 2 : j / 4 * 2;
}

class Lookups {
  public:
    Lookups(const Cells& cells_, const double* theta_, std::size_t K_)
        : vectors((K_ + 3) / 4), cells(cells_), theta(theta_), K(K_), d(cells_.columns.size()) {
        for (std::size_t from = 0; from < d; from += STRIP) add_strip(from);
    }

    const std::size_t vectors;  // of an entry
    std::vector<Strip> strips;
    std::vector<Doubles> table;

  private:
    std::size_t size(std::size_t j) const { return j < d ? cells.size(j) : 1; }  // beyond the last: one value that adds 0

    void add_strip(std::size_t from) {
        constexpr std::size_t SMALL = 128, ROOM = 4096;  // vectors of a unit, and of all that are joined
        const std::size_t to = std::min(d, from + STRIP);
        std::size_t level = 4, most[5] = {}, all[5] = {};  // vectors, by level
        for (std::size_t j = from; j < to; j += 4) {
            std::size_t s[4];
            for (std::size_t i = 0; i < 4; ++i) s[i] = std::min<std::size_t>(size(j + i), 1u << 12);
            const std::size_t left = s[0] * s[1], right = s[2] * s[3];
            most[2] = std::max({most[2], left * vectors, right * vectors});
            most[4] = std::max(most[4], left * right * vectors);
            all[2] += (left + right) * vectors;
            all[4] += left * right * vectors;
        }
        while (level > 1 && (most[level] > SMALL || joined + all[level] > ROOM)) level /= 2;
        joined += level > 1 ? all[level] : 0;
        strips.emplace_back();
        strips.back().level = level;
        strips.back().fours = (to - from + 3) / 4;
        for (std::size_t j = from; j < from + 4 * strips.back().fours; j += level) add_unit(strips.back(), from, j);
        for (std::size_t j = 0; j < STRIP; ++j) {
            Strip& strip = strips.back();
            strip.base_of[j % 2][j / 2] = static_cast<std::uint16_t>(strip.base[j]);
            if (from + j >= d) continue;
            strip.times_of[j % 2][j / 2] = static_cast<std::uint16_t>(strip.times[j]);
            strip.most[j] = static_cast<std::uint8_t>(std::min<std::size_t>(size(from + j), 256) - 1);
        }
    }

    void add_unit(Strip& strip, std::size_t from, std::size_t first) {
        const std::size_t end = first + strip.level, at = table.size();
        std::size_t entries = 1;
        for (std::size_t j = end; j-- > first; entries *= size(j))
            strip.times[j - from] = static_cast<std::uint32_t>(entries * vectors * 4);
        strip.base[first - from] = static_cast<std::uint32_t>(at * 4);
        table.resize(at + entries * vectors, Doubles{});
        double* out = reinterpret_cast<double*>(table.data() + at);
        for (std::size_t e = 0; e < entries; ++e, out += 4 * vectors) {
            const double* cell[4] = {};
            std::size_t rest = e;
            for (std::size_t j = end; j-- > first; rest /= size(j))
                if (j < d) cell[j - first] = theta + (static_cast<std::size_t>(cells.offsets[j]) + rest % size(j)) * K;
            auto c = [&](int i, std::size_t k) { return cell[i] ? cell[i][k] : 0.0; };
            for (std::size_t k = 0; k < K; ++k) out[k] = (c(0, k) + c(1, k)) + (c(2, k) + c(3, k));
        }
    }

    const Cells& cells;
    const double* theta;
    const std::size_t K, d;
    std::size_t joined = 0;
};

// The places of contiguous rows of bytes, 32 columns at once. `end` is where the matrix ends: a row that is too near is copied.
template <int Level>
void find_in_bytes(const Cells& cells, const Strip& strip, std::size_t from, const unsigned char* end, std::size_t begin,
                   std::size_t count, std::uint16_t* out) {
    const std::size_t width = std::min(STRIP, cells.columns.size() - from);
    const Pairs times0 = strip.times_of[0], times1 = strip.times_of[1], base0 = strip.base_of[0], base1 = strip.base_of[1];
    const Pairs odd = times1 - (times0 << 8), base = base0 + base1;  // modulo 2¹⁶: (even + 256 odd) · t₀ + odd · (t₁ − 256 t₀)
    Bytes top{};
    auto find = [&](const unsigned char* p) {
        const Bytes codes = load_bytes(p);
        top = max_bytes(codes, top);
        const Pairs both = reinterpret_cast<Pairs>(codes), second = both >> 8;
        if (Level == 1) {
            const Pairs first = (both & 255) * times0 + base0, last = second * times1 + base1;
            std::memcpy(out, &first, sizeof first);
            std::memcpy(out + STRIP / 2, &last, sizeof last);
            return;
        }
        typedef std::uint32_t Fours __attribute__((vector_size(32)));
        const Pairs pairs = both * times0 + second * odd + base;
        const Fours fours = reinterpret_cast<Fours>(pairs);
        const Pairs places = Level == 2 ? pairs : reinterpret_cast<Pairs>((fours & 65535) + (fours >> 16));
        std::memcpy(out, &places, sizeof places);
    };
    const std::ptrdiff_t stride = cells.columns[0].stride;
    const unsigned char* p = cells.columns[from].at(begin);
    for (std::size_t r = 0; r < count; ++r, p += stride, out += STRIP) {
        __builtin_prefetch(p + static_cast<std::ptrdiff_t>(BLOCK) * stride);  // of the next block
        if (end - p >= static_cast<std::ptrdiff_t>(STRIP)) {
            find(p);
        } else {
            unsigned char copy[STRIP] = {};
            std::memcpy(copy, p, width);
            find(copy);
        }
    }
    for (std::size_t j = 0; j < width; ++j)
        if (top[j] > strip.most[j]) bad_code(from + j, top[j], cells.size(from + j));
}

// The places of columns wherever they are.
template <typename C>
void add_column(const Cells& cells, std::size_t j, std::uint32_t times, std::size_t begin, std::size_t count,
                std::uint32_t* places) {
    const Column& c = cells.columns[j];
    const unsigned char* p = c.at(begin);
    C top = 0;
    auto add = [&](std::size_t r, const unsigned char* at) {
        const C code = read_code<C>(at);
        top = code > top ? code : top;
        places[r] += static_cast<std::uint32_t>(code) * times;
    };
    if (c.stride == sizeof(C))
        for (std::size_t r = 0; r < count; ++r) add(r, p + r * sizeof(C));
    else
        for (std::size_t r = 0; r < count; ++r, p += c.stride) add(r, p);
    if (count && top >= cells.size(j)) bad_code(j, top, cells.size(j));
}

void find_in_columns(const Cells& cells, const Strip& strip, std::size_t from, std::size_t begin, std::size_t count,
                     std::uint32_t* out) {
    for (std::size_t first = 0; first < 4 * strip.fours; first += strip.level) {
        std::uint32_t places[BLOCK];
        std::fill_n(places, count, strip.base[first]);
        for (std::size_t j = from + first; j < std::min(cells.columns.size(), from + first + strip.level); ++j) {
            const int bytes = cells.columns[j].width;
            const std::uint32_t times = strip.times[j - from];
            if (bytes == 1) add_column<std::uint8_t>(cells, j, times, begin, count, places);
            else if (bytes == 2) add_column<std::uint16_t>(cells, j, times, begin, count, places);
            else if (bytes == 4) add_column<std::uint32_t>(cells, j, times, begin, count, places);
            else add_column<std::uint64_t>(cells, j, times, begin, count, places);
        }
        std::uint32_t* to = out + slot(strip.level, first);
        for (std::size_t r = 0; r < count; ++r) to[r * STRIP] = places[r];
    }
}

// The sums of the columns of a strip for Q vectors of classes, added to those of the strips before it. Sums lie row by row,
// `vectors` apart; the first strip of a group begins them.
template <int Q, int Level, bool Whole, typename P>
void add_strip(const double* table, const P* at, std::size_t fours, std::size_t count, std::size_t vectors, bool first,
               Doubles* sums) {
    constexpr std::size_t H = STRIP / 2;
    for (std::size_t r = 0; r < count; ++r, at += STRIP, sums += vectors) {
        Doubles group[Q];
        for (int q = 0; q < Q; ++q) group[q] = first ? Doubles{} : sums[q];
        auto add = [&](std::size_t f) {
            auto entry = [&](std::size_t slot) { return table + at[slot]; };
            const double *a = entry(2 * f), *b = entry(2 * f + 1), *c = entry(H + 2 * f), *e = entry(H + 2 * f + 1);
            for (int q = 0; q < Q; ++q) {
                if (Level == 4) group[q] += load4(a + 4 * q);
                if (Level == 2) group[q] += load4(a + 4 * q) + load4(b + 4 * q);
                if (Level == 1) group[q] += (load4(a + 4 * q) + load4(c + 4 * q)) + (load4(b + 4 * q) + load4(e + 4 * q));
            }
        };
        if (Whole)
            for (std::size_t f = 0; f < STRIP / 4; ++f) add(f);
        else
            for (std::size_t f = 0; f < fours; ++f) add(f);
        for (int q = 0; q < Q; ++q) sums[q] = group[q];
    }
}

template <int Q, typename P>
void add_classes(const Strip& strip, const double* table, const P* at, std::size_t count, std::size_t vectors, bool first,
                 Doubles* sums) {
    const bool whole = strip.fours == STRIP / 4;
    const auto add = strip.level == 4   ? (whole ? add_strip<Q, 4, true, P> : add_strip<Q, 4, false, P>)
                     : strip.level == 2 ? (whole ? add_strip<Q, 2, true, P> : add_strip<Q, 2, false, P>)
                                        : (whole ? add_strip<Q, 1, true, P> : add_strip<Q, 1, false, P>);
    add(table, at, strip.fours, count, vectors, first, sums);
}

// What is there already, the start if nothing else, + the sums of a group, which are vectors. Fewer than four classes are
// written as a vector where the rows that it touches are yet to come.
void put(const Scores& to, std::size_t K, std::size_t begin, std::size_t count, bool first, const Doubles* sums) {
    const std::size_t V = (K + 3) / 4;
    std::size_t r = 0;
    if (K < 4 && first && !to.start_stride) {
        Doubles start{};
        for (std::size_t k = 0; k < K; ++k) start[k] = to.start[k];
        for (; K * (count - r) >= 4; ++r) store4(to.out + (begin + r) * K, start + sums[r]);
    }
    for (; r < count; ++r) {
        double* out = to.out + (begin + r) * K;
        const double* old = first ? to.start + (begin + r) * to.start_stride : out;
        const double* sum = reinterpret_cast<const double*>(sums + r * V);
        for (std::size_t k = 0; k < K; ++k) out[k] = old[k] + sum[k];
    }
}

// A block of rows: start + the groups of columns.
template <typename P>
void score_block(const Cells& cells, const Lookups& lookups, std::size_t K, const Scores& to, std::size_t begin,
                 std::size_t count, Doubles* sums) {
    const std::size_t n = lookups.strips.size(), V = lookups.vectors, parts = (V + 3) / 4;
    const Column& column = cells.columns[0];
    const unsigned char* end = std::max(column.at(0), column.at(cells.n - 1)) + cells.columns.size();
    const double* table = reinterpret_cast<const double*>(lookups.table.data());
    P at[STRIP * BLOCK];
    for (std::size_t s = 0; s < n; ++s) {
        const Strip& strip = lookups.strips[s];
        if constexpr (sizeof(P) == 2) {
            const auto find = strip.level == 1 ? find_in_bytes<1> : strip.level == 2 ? find_in_bytes<2> : find_in_bytes<4>;
            find(cells, strip, s * STRIP, end, begin, count, at);
        } else find_in_columns(cells, strip, s * STRIP, begin, count, at);
        const bool first = s % (GROUP / STRIP) == 0;
        for (std::size_t p = 0; p < parts; ++p) {
            const std::size_t from = p * V / parts;
            auto add = add_classes<4, P>;
            switch ((p + 1) * V / parts - from) {
                case 1: add = add_classes<1, P>; break;
                case 2: add = add_classes<2, P>; break;
                case 3: add = add_classes<3, P>; break;
            }
            add(strip, table + 4 * from, at, count, V, first, sums + from);
        }
        if (s + 1 == n || (s + 1) % (GROUP / STRIP) == 0) put(to, K, begin, count, s < GROUP / STRIP, sums);
    }
}

template <typename P>
void score_task(const Cells& cells, const Lookups& lookups, std::size_t K, const Scores& to, std::size_t first,
                std::size_t count) {
    std::vector<Doubles> sums(BLOCK * lookups.vectors);
    for (std::size_t r = 0; r < count; r += BLOCK)
        score_block<P>(cells, lookups, K, to, first + r, std::min(BLOCK, count - r), sums.data());
}

}  // namespace

std::int64_t score_cells(const Cells& cells, const double* theta, std::size_t K, const Scores& to, int threads) {
    const std::size_t n = cells.n, d = cells.columns.size(), total = d ? cells.total() : 0;
    if (const std::size_t level = d ? bytes_level(cells, K) : 0) return score_bytes(cells, theta, K, to, level, threads);
    std::optional<Lookups> lookups;
    if (n >= 16 && n * d >= 4 * total && d) lookups.emplace(cells, theta, K);
    const bool bytes = lookups && cells.row_major && cells.columns[0].width == 1 && lookups->table.size() < (1u << 14);
    const std::size_t tasks = (n + ROWS - 1) / ROWS;
    std::vector<std::int64_t> impossible(tasks, NONE);
    parallel_runs(tasks, 16, threads, [&](std::size_t t) {
        const std::size_t first = t * ROWS, count = std::min(ROWS, n - first);
        if (!lookups) score_plain(cells, theta, K, to, first, count);
        else if (bytes) score_task<std::uint16_t>(cells, *lookups, K, to, first, count);
        else score_task<std::uint32_t>(cells, *lookups, K, to, first, count);
        double* out = to.out + first * K;
        if (!to.posterior) return;
        impossible[t] = normalise_block(out, count, K, out, nullptr);
        if (impossible[t] != NONE) impossible[t] += static_cast<std::int64_t>(first);
    });
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

}  // namespace posteriori
