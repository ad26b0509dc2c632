// score_cells of bytes, up to four values a column and up to four classes: a row is read eight columns at a time, and
// where their entries lie is reckoned in the register that they came in. The same sums, in the same order, as in
// score_cells.cpp.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "byte_rows.hpp"
#include "naive.hpp"
#include "threads.hpp"
#include "vec_math.hpp"

namespace posteriori {
namespace {

constexpr std::size_t BLOCK = 64;           // rows whose sums stay in the first cache
constexpr std::size_t MOST_COLUMNS = 256;   // one group of score_cells
constexpr std::size_t MOST_EIGHTS = 8;      // of columns, added at a time
constexpr std::size_t UNIT = 64;            // numbers: 16 entries of four classes
constexpr double NEVER = -std::numeric_limits<double>::infinity();

// Entries of units of `level` columns, whose codes have 4 / level bits each, the first column's the lowest.
struct Units {
    std::size_t level, eights;
    std::vector<Doubles> table;  // entries of two units by turns: two that are wanted at once are then in different banks

    Units(const Cells& cells, const double* theta, std::size_t K, std::size_t level_)
        : level(level_), eights((cells.columns.size() + 7) / 8), table(eights * (8 / level) * UNIT / 4) {
        const std::size_t d = cells.columns.size(), bits = 4 / level;
        for (std::size_t u = 0; u < eights * (8 / level); ++u)
            for (std::size_t e = 0; e < 16; ++e) {
                const double* cell[4] = {};
                bool there = true;
                for (std::size_t i = 0; i < level; ++i) {
                    const std::size_t j = u * level + i, code = e >> i * bits & ((1u << bits) - 1);
                    there = there && code < (j < d ? cells.size(j) : 1);
                    if (j < d) cell[i] = theta + (static_cast<std::size_t>(cells.offsets[j]) + code) * K;
                }
                auto c = [&](int i, std::size_t k) { return cell[i] ? cell[i][k] : 0.0; };
                for (std::size_t k = 0; k < K && there; ++k)
                    table[u / 2 * 32 + 2 * e + u % 2][k] = (c(0, k) + c(1, k)) + (c(2, k) + c(3, k));
            }
    }
};

inline std::uint64_t byte_of(std::uint64_t x, int bit) { return x >> bit & 255; }

// Two fours of columns, added to a sum. Every second or fourth byte becomes eight times an entry's number; what runs over is in
// the bytes between.
template <int Level> inline Doubles add_eight(Doubles sum, std::uint64_t codes, const double* table) {
    auto entry = [&](int unit, std::uint64_t place) { return load4(table + unit / 2 * 2 * static_cast<int>(UNIT) + unit % 2 * 4 + place); };
    if (Level == 1) {
        const std::uint64_t at = codes << 3;
        sum += (entry(0, byte_of(at, 0)) + entry(1, byte_of(at, 8))) + (entry(2, byte_of(at, 16)) + entry(3, byte_of(at, 24)));
        return sum + ((entry(4, byte_of(at, 32)) + entry(5, byte_of(at, 40))) + (entry(6, byte_of(at, 48)) + entry(7, byte_of(at, 56))));
    }
    const std::uint64_t twos = (Level == 2 ? codes >> 3 | codes << 61 : codes >> 4 | codes << 60) + 8 * codes;
    if (Level == 2) {
        sum += entry(0, byte_of(twos, 0)) + entry(1, byte_of(twos, 16));
        return sum + (entry(2, byte_of(twos, 32)) + entry(3, byte_of(twos, 48)));
    }
    const std::uint64_t fours = (twos >> 14 | twos << 50) + twos;
    sum += entry(0, byte_of(fours, 0));
    return sum + entry(1, byte_of(fours, 32));
}

// The sums of E eights for some rows; of the last one only the bytes of `mask` are columns.
template <int Level, int E>
void add_eights(const unsigned char* row, std::ptrdiff_t stride, std::size_t count, const double* table, std::uint64_t mask,
                bool first, Doubles* sums) {
    // The next block, where rows are too long for the processor to foresee it.
    const std::ptrdiff_t ahead = stride > 64 ? static_cast<std::ptrdiff_t>(BLOCK) * stride : 0;
    for (std::size_t r = 0; r < count; ++r, row += stride) {
        __builtin_prefetch(row + ahead);
        Doubles sum = first ? Doubles{} : sums[r];
        for (int e = 0; e < E; ++e) {
            std::uint64_t codes;
            std::memcpy(&codes, row + 8 * e, 8);
            sum = add_eight<Level>(sum, e + 1 < E ? codes : codes & mask, table + e * (8 / Level) * static_cast<int>(UNIT));
        }
        sums[r] = sum;
    }
}

using Add = void (*)(const unsigned char*, std::ptrdiff_t, std::size_t, const double*, std::uint64_t, bool, Doubles*);
template <int Level, std::size_t... E> constexpr std::array<Add, sizeof...(E)> adders(std::index_sequence<E...>) {
    return {add_eights<Level, static_cast<int>(E) + 1>...};
}

inline Doubles greater(Doubles a, Doubles b) { return a > b ? a : b; }  // b where a is no number

inline void turn4(Doubles* x) {  // a row of each becomes a column
    const Doubles a = __builtin_shuffle(x[0], x[1], Longs{0, 4, 2, 6}), b = __builtin_shuffle(x[0], x[1], Longs{1, 5, 3, 7});
    const Doubles c = __builtin_shuffle(x[2], x[3], Longs{0, 4, 2, 6}), e = __builtin_shuffle(x[2], x[3], Longs{1, 5, 3, 7});
    x[0] = __builtin_shuffle(a, c, Longs{0, 1, 4, 5});
    x[1] = __builtin_shuffle(b, e, Longs{0, 1, 4, 5});
    x[2] = __builtin_shuffle(a, c, Longs{2, 3, 6, 7});
    x[3] = __builtin_shuffle(b, e, Longs{2, 3, 6, 7});
}

// Rows one after the other out of vectors. A vector may be longer than a row: it is written whole where the rows that it
// touches are yet to come.
template <int K> inline void put_rows(const Doubles* x, std::size_t rows, bool more, double* out) {
    for (std::size_t i = 0; i < rows; ++i) {
        if (more) store4(out + i * K, x[i]);
        else std::memcpy(out + i * K, &x[i], K * sizeof(double));
    }
}

// Start + sums of a row; the start is one for all (`step` 0) or one a row.
struct Joints {
    const Doubles *start, *sums;
    std::size_t step;
    Doubles operator[](std::size_t r) const { return start[r * step] + sums[r]; }
};

// Log joints into posteriors, as normalise.cpp makes them: a vector of each class of four rows, the exponentials of all, and
// back. Returns the first row that no class allows, or NONE. Room for the last four rows is there.
template <int K> std::int64_t put_posteriors(const Joints& joint, std::size_t count, double* out) {
    Doubles x[K * BLOCK / 4], tops[BLOCK / 4];
    Longs never{};
    const std::size_t fours = (count + 3) / 4;
    for (std::size_t f = 0; f < fours; ++f) {
        Doubles four[4] = {joint[4 * f], joint[4 * f + 1], joint[4 * f + 2], joint[4 * f + 3]};
        turn4(four);
        Doubles top = greater(four[0], all4(NEVER));
        for (int k = 1; k < K; ++k) top = greater(four[k], top);
        const Doubles shift = top - top == Doubles{} ? top : Doubles{};
        for (int k = 0; k < K; ++k) x[f * K + k] = four[k] - shift;
        tops[f] = top;
        never |= top == all4(NEVER);
    }
    for (std::size_t f = 0; f < fours; ++f) exp4<K>(x + f * K);
    for (std::size_t f = 0; f < fours; ++f) {
        Doubles four[4] = {}, total{};
        for (int k = 0; k < K; ++k) total += x[f * K + k];
        const Doubles share = 1.0 / (total > Doubles{} ? total : all4(1.0));
        for (int k = 0; k < K; ++k) four[k] = x[f * K + k] * share;
        turn4(four);
        put_rows<K>(four, std::min<std::size_t>(4, count - 4 * f), 4 * f + 8 <= count, out + 4 * f * K);
    }
    for (std::size_t r = 0; r < count && (never[0] | never[1] | never[2] | never[3]); ++r)
        if (tops[r / 4][r % 4] == NEVER) return static_cast<std::int64_t>(r);
    return NONE;
}

template <int K> std::int64_t put_scores(const Joints& joint, std::size_t count, bool posterior, double* out) {
    if (posterior) return put_posteriors<K>(joint, count, out);
    for (std::size_t r = 0; r < count; ++r) {
        const Doubles row = joint[r];
        put_rows<K>(&row, 1, r + 4 < count, out + r * K);
    }
    return NONE;
}

class ByteScores {
  public:
    ByteScores(const Cells& cells_, const double* theta, std::size_t K_, const Scores& to_, std::size_t level)
        : cells(cells_), to(to_), K(K_), d(cells.columns.size()), rows(cells), units(cells, theta, K, level) {
        for (std::size_t j = 0; j < MOST_COLUMNS; ++j)
            most[j / 32][j % 32] = static_cast<std::uint8_t>(j < d ? cells.size(j) - 1 : 255);
        for (std::size_t k = 0; k < K && !to.start_stride; ++k) start[k] = to.start[k];
    }

    std::int64_t add(std::size_t begin, std::size_t count) const {
        unsigned char copies[BLOCK * MOST_COLUMNS];
        const auto [base, stride] = rows.block(begin, count, copies);
        check(base, stride, count);
        Doubles sums[BLOCK];
        look_up(base, stride, count, sums);
        std::fill(sums + count, sums + (count + 3) / 4 * 4, Doubles{});
        Doubles own[BLOCK];
        for (std::size_t r = 0; to.start_stride && r < (count + 3) / 4 * 4; ++r) {
            own[r] = Doubles{};
            if (r < count) std::memcpy(&own[r], to.start + (begin + r) * to.start_stride, K * sizeof(double));
        }
        const Joints joint{to.start_stride ? own : &start, sums, to.start_stride ? std::size_t{1} : 0};
        const auto put = K == 1 ? put_scores<1> : K == 2 ? put_scores<2> : K == 3 ? put_scores<3> : put_scores<4>;
        const std::int64_t row = put(joint, count, to.posterior, to.out + begin * K);
        return row == NONE ? NONE : row + static_cast<std::int64_t>(begin);
    }

  private:
    void check(const unsigned char* base, std::ptrdiff_t stride, std::size_t count) const {
        for (std::size_t from = 0; from < d; from += 32) {
            Bytes top{};
            const unsigned char* p = base + from;
            for (std::size_t r = 0; r < count; ++r, p += stride) top = max_bytes(load_bytes(p), top);
            const Longs more = reinterpret_cast<Longs>(top > most[from / 32]);
            for (std::size_t j = from; (more[0] | more[1] | more[2] | more[3]) && j < std::min(d, from + 32); ++j)
                if (top[j - from] >= cells.size(j)) bad_code(j, top[j - from], cells.size(j));
        }
    }

    void look_up(const unsigned char* base, std::ptrdiff_t stride, std::size_t count, Doubles* sums) const {
        static constexpr auto ones = adders<1>(std::make_index_sequence<MOST_EIGHTS>());
        static constexpr auto twos = adders<2>(std::make_index_sequence<MOST_EIGHTS>());
        static constexpr auto fours = adders<4>(std::make_index_sequence<MOST_EIGHTS>());
        const double* table = reinterpret_cast<const double*>(units.table.data());
        const std::size_t steps = (units.eights + MOST_EIGHTS - 1) / MOST_EIGHTS;
        const std::uint64_t all = ~std::uint64_t{0}, rest = d % 8 ? all >> (8 - d % 8) * 8 : all;
        for (std::size_t s = 0; s < steps; ++s) {
            const std::size_t from = s * units.eights / steps, many = (s + 1) * units.eights / steps - from;
            const Add add = (units.level == 1 ? ones : units.level == 2 ? twos : fours)[many - 1];
            add(base + 8 * from, stride, count, table + from * (8 / units.level) * UNIT, s + 1 < steps ? all : rest, !s, sums);
        }
    }

    const Cells& cells;
    const Scores& to;
    const std::size_t K, d;
    const ByteRows rows;
    const Units units;
    Bytes most[MOST_COLUMNS / 32];  // the greatest codes
    Doubles start{};
};

}  // namespace

std::size_t bytes_level(const Cells& cells, std::size_t K) {
    const std::size_t d = cells.columns.size();
    if (K > 4 || d > MOST_COLUMNS || cells.n < BLOCK || !ByteRows::suits(cells)) return 0;
    std::size_t least = 1, most = 1;
    for (std::size_t j = 0; j < d; ++j) least = std::min(least, cells.size(j)), most = std::max(most, cells.size(j));
    if (!least || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) return 0;
    return most <= 2 ? 4 : most <= 4 ? 2 : most <= 16 ? 1 : 0;
}

std::int64_t score_bytes(const Cells& cells, const double* theta, std::size_t K, const Scores& to, std::size_t level, int threads) {
    const ByteScores scores(cells, theta, K, to, level);
    const std::size_t n = cells.n, blocks = (n + BLOCK - 1) / BLOCK;
    std::vector<std::int64_t> impossible(blocks, NONE);
    parallel_runs(blocks, 64, threads, [&](std::size_t b) { impossible[b] = scores.add(b * BLOCK, std::min(BLOCK, n - b * BLOCK)); });
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

}  // namespace posteriori
