// start[y] + Σ x·table[j, y] over the stored cells of CSR rows. Nothing depends on other rows, so that a row has the same
// bits whether it comes alone or among others.
#include "stored.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t ROWS = 256;   // most rows of a task
constexpr std::size_t VECTORS = 8;  // vectors of four classes whose sums stay in registers
constexpr std::size_t LARGE = std::size_t{1} << 25, OFTEN = 4, LONG = 40;  // bytes of a table; cells a column, cells a row
constexpr std::size_t FAR = 16;     // cells from asking for a row of the table to reading it

// Cells of one row; `known` of them, from the first on, have indices that may be used to ask for memory in advance.
template <typename I> struct Terms {
    const I* index;
    const double* x;
    std::size_t count, known;
    Terms part(std::size_t from, std::size_t most) const {
        return {index + from, x + from, std::min(most, count - from), known - from};
    }
};

// The weights (d, K), read four classes at a time. With fewer than four classes that would reach beyond the end of the table,
// which is kept in a copy with zeros behind.
struct Wide {
    const double* table;
    std::size_t K;
    const double* row(std::size_t j) const { return table + j * K; }
    Doubles get(const double* from) const { return load4(from); }
    void put(double* to, Doubles four) const { store4(to, four); }
};

struct Narrow {
    const double* table;
    std::size_t K, safe;  // entries from which four can be read
    double tail[8] = {};
    Narrow(const double* given, std::size_t K_, std::size_t d) : table(given), K(K_), safe(d * K < 4 ? 0 : d * K - 3) {
        std::copy(table + safe, table + d * K, tail);
    }
    const double* row(std::size_t j) const { return j * K < safe ? table + j * K : tail + (j * K - safe); }
    Doubles get(const double* from) const { return Doubles{from[0], K > 1 ? from[1] : 0.0, K > 2 ? from[2] : 0.0, 0.0}; }
    void put(double* to, Doubles four) const {
        to[0] = four[0];
        if (K > 1) to[1] = four[1];
        if (K > 2) to[2] = four[2];
    }
};

// Σ x·table[j, y] over a group of cells, for Q vectors of classes, added to `sums` with what rounding loses, for the terms
// may cancel against the start. The last vector begins at class `last`: it ends with the last class, and may share some with
// the one before. Two sums by turns hide the wait for memory where the vectors are few.
template <int Q, typename I, typename Table>
inline void add_group(const Terms<I>& terms, const Table& table, std::size_t first, std::size_t last, Doubles* sums,
                      Doubles* lost) {
    constexpr int P = Q <= 4 ? 2 : 1;
    Doubles parts[P][Q] = {};
    auto add = [&](Doubles* to, std::size_t i) {
        if (Q > 2 && i + FAR < terms.known) {
            const double* soon = table.row(static_cast<std::size_t>(terms.index[i + FAR]));
            for (int q = 0; q < Q; q += 2) __builtin_prefetch(soon + first + 4 * q);
            __builtin_prefetch(soon + last + 3);
        }
        const double* row = table.row(static_cast<std::size_t>(terms.index[i]));
        for (int q = 0; q + 1 < Q; ++q) to[q] += load4(row + first + 4 * q) * terms.x[i];
        to[Q - 1] += load4(row + last) * terms.x[i];
    };
    std::size_t i = 0;
    for (; P == 2 && i + 2 <= terms.count; i += 2) {
        add(parts[0], i);
        add(parts[P - 1], i + 1);
    }
    for (; i < terms.count; ++i) add(parts[0], i);
    for (int q = 0; q < Q; ++q) {
        const Doubles group = P == 2 ? parts[0][q] + parts[P - 1][q] : parts[0][q];
        const Doubles old = sums[q], now = old + group, back = now - old;
        lost[q] += (old - (now - back)) + (group - back);
        sums[q] = now;
    }
}

Doubles rounded(Doubles sum, Doubles lost) { return sum - sum == Doubles{} ? sum + lost : sum; }  // −inf loses nothing

// One row of two classes: two cells to a vector.
struct Two {
    template <typename I, typename Table>
    void operator()(const Terms<I>& terms, const Table& table, const double* start, const double* low, double* out) const {
        typedef double Couple __attribute__((vector_size(16)));
        auto couple = [](const double* p) { Couple v; std::memcpy(&v, p, sizeof v); return v; };
        auto row = [&](std::size_t i) { return couple(table.table + 2 * static_cast<std::size_t>(terms.index[i])); };
        auto both = [&](std::size_t i) {
            const Couple a = row(i), b = row(i + 1);
            return Doubles{a[0], a[1], b[0], b[1]} * Doubles{terms.x[i], terms.x[i], terms.x[i + 1], terms.x[i + 1]};
        };
        const std::size_t group = terms.count > 4096 ? 4 : 64;
        Couple sum = couple(start), lost = low ? couple(low) : Couple{};
        for (std::size_t i = 0; i < terms.count;) {
            const std::size_t end = std::min(terms.count, i + group);
            Doubles parts[2] = {};
            for (; i + 4 <= end; i += 4) {
                parts[0] += both(i);
                parts[1] += both(i + 2);
            }
            const Doubles four = parts[0] + parts[1];
            Couple part = Couple{four[0], four[1]} + Couple{four[2], four[3]};
            for (; i < end; ++i) part += row(i) * terms.x[i];
            const Couple old = sum, now = old + part, back = now - old;
            lost += (old - (now - back)) + (part - back);
            sum = now;
        }
        const Couple found = sum - sum == Couple{} ? sum + lost : sum;
        std::memcpy(out, &found, sizeof found);
    }
};

// One row of up to 4Q classes.
template <int Q> struct Few {
    template <typename I, typename Table>
    void operator()(const Terms<I>& terms, const Table& table, const double* start, const double* low, double* out) const {
        const std::size_t last = Q == 1 ? 0 : table.K - 4, group = terms.count > 4096 ? 4 : 64;
        auto place = [&](int q) -> std::size_t { return q + 1 < Q ? 4 * static_cast<std::size_t>(q) : last; };
        Doubles sums[Q], lost[Q];
        for (int q = 0; q < Q; ++q) {
            sums[q] = table.get(start + place(q));
            lost[q] = low ? table.get(low + place(q)) : Doubles{};
        }
        for (std::size_t i = 0; i < terms.count; i += group)
            add_group<Q>(terms.part(i, group), table, 0, last, sums, lost);
        for (int q = 0; q < Q; ++q) table.put(out + place(q), rounded(sums[q], lost[q]));
    }
};

// One row of more classes, in parts of up to eight vectors, of which one is taken or all. Where all are, a group is few enough
// cells for the first part to find its rows of the table in the cache still when it comes to the last. The sums of a class are
// the same in both.
class Many {
  public:
    static std::size_t parts_of(std::size_t K) { return ((K + 3) / 4 + VECTORS - 1) / VECTORS; }
    explicit Many(std::size_t K) : Many(K, 0, parts_of(K)) {}
    Many(std::size_t K, std::size_t first_part, std::size_t last_part)
        : vectors((K + 3) / 4), parts(parts_of(K)), first(first_part), last(last_part), sums(vectors), lost(vectors) {}

    template <typename I>
    void operator()(const Terms<I>& terms, const Wide& table, const double* start, const double* low, double* out) {
        const std::size_t group = terms.count > 4096 ? 4 : 16, begin = edge(first), end = edge(last);
        auto place = [&](std::size_t v) { return v + 1 < vectors ? 4 * v : table.K - 4; };
        for (std::size_t v = begin; v < end; ++v) {
            sums[v] = load4(start + place(v));
            lost[v] = low ? load4(low + place(v)) : Doubles{};
        }
        for (std::size_t i = 0; i < terms.count; i += group)
            for (std::size_t p = first; p < last; ++p) {
                const std::size_t from = edge(p), to = edge(p + 1);
                add_part(to - from, terms.part(i, group), table, 4 * from, place(to - 1), &sums[from], &lost[from]);
            }
        for (std::size_t v = begin; v < end; ++v) store4(out + place(v), rounded(sums[v], lost[v]));
    }

  private:
    std::size_t edge(std::size_t part) const { return part * vectors / parts; }

    template <typename I>
    static void add_part(std::size_t width, const Terms<I>& terms, const Wide& table, std::size_t first, std::size_t last,
                         Doubles* sums, Doubles* lost) {
        switch (width) {  // at least half of eight
            case 4: return add_group<4>(terms, table, first, last, sums, lost);
            case 5: return add_group<5>(terms, table, first, last, sums, lost);
            case 6: return add_group<6>(terms, table, first, last, sums, lost);
            case 7: return add_group<7>(terms, table, first, last, sums, lost);
            default: return add_group<8>(terms, table, first, last, sums, lost);
        }
    }

    const std::size_t vectors, parts, first, last;
    std::vector<Doubles> sums, lost;
};

template <typename I, typename Table, typename Row>
int score_rows(const Sparse<I>& X, const Table& table, Row row, const Scores& to, std::size_t first, std::size_t last) {
    Block<I> block(X);
    for (std::size_t begin = first; begin < last;) {
        const std::size_t end = block.read(begin, last);
        for (std::size_t r = begin; r < end; ++r) {
            const auto from = static_cast<std::size_t>(X.indptr[r]), count = static_cast<std::size_t>(X.indptr[r + 1]) - from;
            row(Terms<I>{block.index(from), block.value(from), count, block.end - from}, table,
                to.start + r * to.start_stride, to.low, to.out + r * table.K);
        }
        begin = end;
    }
    return block.state;
}

template <typename I>
int score_wide(const Sparse<I>& X, const Wide& table, const Scores& to, std::size_t first, std::size_t last) {
    switch ((table.K + 3) / 4) {
        case 1: return score_rows(X, table, Few<1>(), to, first, last);
        case 2: return score_rows(X, table, Few<2>(), to, first, last);
        case 3: return score_rows(X, table, Few<3>(), to, first, last);
        case 4: return score_rows(X, table, Few<4>(), to, first, last);
        case 5: return score_rows(X, table, Few<5>(), to, first, last);
        case 6: return score_rows(X, table, Few<6>(), to, first, last);
        case 7: return score_rows(X, table, Few<7>(), to, first, last);
        case 8: return score_rows(X, table, Few<8>(), to, first, last);
        default: return score_rows(X, table, Many(table.K), to, first, last);
    }
}

}  // namespace

template <typename I>
std::int64_t score_sparse(const Sparse<I>& X, const double* weights, std::size_t K, const Scores& to, int threads, int* seen) {
    check_shape(X);
    if (!X.n || !K) return NONE;
    const auto stored = static_cast<std::size_t>(X.indptr[X.n] - X.indptr[0]);
    const std::size_t work = stored / X.n * (K + 4) / 4 + K;  // of a row
    const std::size_t share = std::clamp<std::size_t>(65536 / work, 1, ROWS), tasks = (X.n + share - 1) / share;
    const Wide wide{weights, K};
    const Narrow narrow(weights, K, K < 4 ? X.d : 0);
    std::vector<int> states(tasks, SOUND);
    std::vector<std::int64_t> impossible(tasks, NONE);
    // a table larger than the caches, of which each row is asked for often: all rows for some classes, then for the next ones
    const std::size_t parts = Many::parts_of(K);
    const bool by_parts = parts > 1 && X.d * K * sizeof(double) > LARGE && stored > OFTEN * X.d && stored > LONG * X.n;
    if (by_parts)
        parallel_for(parts * tasks, threads, [&](std::size_t task) {
            const std::size_t part = task / tasks, first = task % tasks * share, last = std::min(X.n, first + share);
            const int state = score_rows(X, wide, Many(K, part, part + 1), to, first, last);
            if (part == 0) states[task] = state;
        });
    parallel_for(tasks, threads, [&](std::size_t t) {
        const std::size_t first = t * share, last = std::min(X.n, first + share);
        if (!by_parts) states[t] = K == 2  ? score_rows(X, wide, Two(), to, first, last)
                    : K < 4 ? score_rows(X, narrow, Few<1>(), to, first, last)
                            : score_wide(X, wide, to, first, last);
        double* out = to.out + first * K;
        if (!to.posterior) return;
        impossible[t] = normalise_block(out, last - first, K, out, nullptr);
        if (impossible[t] != NONE) impossible[t] += static_cast<std::int64_t>(first);
    });
    for (const auto state : states) *seen |= state;
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

template std::int64_t score_sparse<std::int32_t>(const Sparse<std::int32_t>&, const double*, std::size_t, const Scores&, int,
                                                 int*);
template std::int64_t score_sparse<std::int64_t>(const Sparse<std::int64_t>&, const double*, std::size_t, const Scores&, int,
                                                 int*);

}  // namespace posteriori
