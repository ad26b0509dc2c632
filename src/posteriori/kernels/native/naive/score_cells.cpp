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

[[noreturn]] void find_bad(const Cells& cells, std::size_t from, std::size_t to, std::size_t begin, std::size_t count) {
    std::size_t j = from;
    while (j + 1 < to && greatest<std::uint8_t>(cells.columns[j], begin, count) < cells.size(j)) ++j;
    bad_code(j, greatest<std::uint8_t>(cells.columns[j], begin, count), cells.size(j));
}

// The places of contiguous rows of bytes, 32 columns at once. `end` is where the matrix ends: a row that is too near is copied.
template <int Level>
void find_in_bytes(const Cells& cells, const Strip& strip, std::size_t from, const unsigned char* end, std::size_t begin,
                   std::size_t count, std::size_t slots, std::uint16_t* out) {
    const std::size_t width = std::min(STRIP, cells.columns.size() - from);
    const Pairs times0 = strip.times_of[0], times1 = strip.times_of[1], base0 = strip.base_of[0], base1 = strip.base_of[1];
    const Bytes limit = strip.most;
    Bytes beyond{};
    auto find = [&](const unsigned char* p) {
        const Bytes codes = load_bytes(p);
        beyond |= reinterpret_cast<Bytes>(codes > limit);
        const Pairs both = reinterpret_cast<Pairs>(codes);
        const Pairs first = (both & 255) * times0 + base0, second = (both >> 8) * times1 + base1;
        if (Level == 1) {
            std::memcpy(out, &first, sizeof first);
            std::memcpy(out + STRIP / 2, &second, sizeof second);
            return;
        }
        typedef std::uint32_t Fours __attribute__((vector_size(32)));
        const Pairs pairs = first + second;
        const Fours fours = reinterpret_cast<Fours>(pairs);
        const Pairs places = Level == 2 ? pairs : reinterpret_cast<Pairs>((fours & 65535) + (fours >> 16));
        std::memcpy(out, &places, sizeof places);
    };
    const std::ptrdiff_t stride = cells.columns[0].stride;
    const unsigned char* p = cells.columns[from].at(begin);
    for (std::size_t r = 0; r < count; ++r, p += stride, out += slots) {
        __builtin_prefetch(p + static_cast<std::ptrdiff_t>(BLOCK) * stride);  // of the next block
        if (end - p >= static_cast<std::ptrdiff_t>(STRIP)) {
            find(p);
        } else {
            unsigned char copy[STRIP] = {};
            std::memcpy(copy, p, width);
            find(copy);
        }
    }
    for (std::size_t i = 0; i < sizeof(Bytes); ++i)
        if (beyond[i]) find_bad(cells, from, from + width, begin, count);
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
                     std::size_t slots, std::uint32_t* out) {
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
        for (std::size_t r = 0; r < count; ++r) to[r * slots] = places[r];
    }
}

// Whole strips without a loop to leave.
template <typename Work> inline void each_four(std::size_t fours, Work&& work) {
    if (fours == STRIP / 4)
        for (std::size_t f = 0; f < STRIP / 4; ++f) work(f);
    else
        for (std::size_t f = 0; f < fours; ++f) work(f);
}

// The sums of a group of columns for Q vectors of classes, added to `sums`, one row of Q after the other.
template <int Q, typename P>
void add_up(const Strip* strip, const Strip* end, const double* table, const P* at, std::size_t count, Doubles* sums) {
    const std::size_t slots = static_cast<std::size_t>(end - strip) * STRIP;
    for (std::size_t r = 0; r < count; ++r, at += slots, sums += Q) {
        Doubles group[Q] = {};
        auto look_up = [&](std::size_t place, int q) { return load4(table + place + 4 * q); };
        const P* a = at;
        for (const Strip* s = strip; s < end; ++s, a += STRIP) {
            constexpr std::size_t H = STRIP / 2;
            if (s->level == 4)
                each_four(s->fours, [&](std::size_t f) {
                    for (int q = 0; q < Q; ++q) group[q] += look_up(a[2 * f], q);
                });
            else if (s->level == 2)
                each_four(s->fours, [&](std::size_t f) {
                    for (int q = 0; q < Q; ++q) group[q] += look_up(a[2 * f], q) + look_up(a[2 * f + 1], q);
                });
            else
                each_four(s->fours, [&](std::size_t f) {
                    for (int q = 0; q < Q; ++q)
                        group[q] += (look_up(a[2 * f], q) + look_up(a[H + 2 * f], q)) +
                                    (look_up(a[2 * f + 1], q) + look_up(a[H + 2 * f + 1], q));
                });
        }
        for (int q = 0; q < Q; ++q) sums[q] += group[q];
    }
}

// A block of rows: start + the groups of columns, Q vectors of classes from class `from` on.
template <int Q, typename P>
void score_classes(const Lookups& lookups, const P* at, std::size_t from, std::size_t K, const Scores& to, std::size_t begin,
                   std::size_t count) {
    Doubles sums[BLOCK * Q];
    const std::size_t width = std::min<std::size_t>(4 * Q, K - from);
    double* flat = reinterpret_cast<double*>(sums);
    for (std::size_t r = 0; r < count; ++r) {
        const double* start = to.start + (begin + r) * to.start_stride + from;
        if (r && !to.start_stride) std::copy_n(sums, Q, sums + r * Q);
        else
            for (std::size_t k = 0; k < 4 * Q; ++k) flat[4 * Q * r + k] = k < width ? start[k] : 0.0;
    }
    const Strip *strip = lookups.strips.data(), *last = strip + lookups.strips.size();
    const double* table = reinterpret_cast<const double*>(lookups.table.data()) + from;
    for (; strip < last; strip += std::min<std::ptrdiff_t>(GROUP / STRIP, last - strip)) {
        const Strip* end = strip + std::min<std::ptrdiff_t>(GROUP / STRIP, last - strip);
        add_up<Q>(strip, end, table, at, count, sums);
        at += static_cast<std::size_t>(end - strip) * STRIP * BLOCK;
    }
    double* out = to.out + begin * K + from;
    for (std::size_t r = 0; r < count; ++r, out += K)
        if (from == 0 && 4 * Q <= K * (count - r)) std::memcpy(out, sums + r * Q, sizeof(Doubles) * Q);  // the rest is overwritten
        else
            for (std::size_t k = 0; k < width; ++k) out[k] = flat[4 * Q * r + k];
}

template <typename P>
void score_block(const Cells& cells, const Lookups& lookups, std::size_t K, const Scores& to, std::size_t begin,
                 std::size_t count, std::vector<P>& at) {
    const std::size_t n = lookups.strips.size(), V = lookups.vectors, parts = (V + 3) / 4;
    const Column& first = cells.columns[0];
    const unsigned char* end = std::max(first.at(0), first.at(cells.n - 1)) + cells.columns.size();
    at.resize(n * STRIP * BLOCK);
    for (std::size_t s = 0; s < n; ++s) {
        const std::size_t group = s / (GROUP / STRIP) * (GROUP / STRIP), slots = std::min(n - group, GROUP / STRIP) * STRIP;
        P* out = at.data() + group * STRIP * BLOCK + (s - group) * STRIP;
        if constexpr (sizeof(P) == 2) {
            const std::size_t level = lookups.strips[s].level;
            const auto find = level == 1 ? find_in_bytes<1> : level == 2 ? find_in_bytes<2> : find_in_bytes<4>;
            find(cells, lookups.strips[s], s * STRIP, end, begin, count, slots, out);
        } else find_in_columns(cells, lookups.strips[s], s * STRIP, begin, count, slots, out);
    }
    for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t from = p * V / parts;
        switch ((p + 1) * V / parts - from) {
            case 1: score_classes<1>(lookups, at.data(), 4 * from, K, to, begin, count); break;
            case 2: score_classes<2>(lookups, at.data(), 4 * from, K, to, begin, count); break;
            case 3: score_classes<3>(lookups, at.data(), 4 * from, K, to, begin, count); break;
            default: score_classes<4>(lookups, at.data(), 4 * from, K, to, begin, count);
        }
    }
}

template <typename P>
void score_task(const Cells& cells, const Lookups& lookups, std::size_t K, const Scores& to, std::size_t first,
                std::size_t count) {
    std::vector<P> at;
    for (std::size_t r = 0; r < count; r += BLOCK)
        score_block(cells, lookups, K, to, first + r, std::min(BLOCK, count - r), at);
}

}  // namespace

std::int64_t score_cells(const Cells& cells, const double* theta, std::size_t K, const Scores& to, int threads) {
    const std::size_t n = cells.n, d = cells.columns.size(), total = d ? cells.total() : 0;
    std::optional<Lookups> lookups;
    if (n >= 16 && n * d >= 4 * total && d) lookups.emplace(cells, theta, K);
    const bool bytes = lookups && cells.row_major && cells.columns[0].width == 1 && lookups->table.size() < (1u << 14);
    const std::size_t tasks = (n + ROWS - 1) / ROWS;
    std::vector<std::int64_t> impossible(tasks, NONE);
    parallel_for(tasks, threads, [&](std::size_t t) {
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
