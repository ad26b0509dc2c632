// Counting and scoring the stored cells of CSR rows. Sums over fixed chunks of rows, merged in order.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t ROWS = 256;

template <typename I, typename V> void check_shape(const Sparse<I, V>& X) {
    for (std::size_t r = 0; r < X.n; ++r)
        if (X.indptr[r] > X.indptr[r + 1] || X.indptr[r] < 0)
            throw std::invalid_argument("indptr of the CSR matrix falls at row " + std::to_string(r));
    if (static_cast<std::size_t>(X.indptr[X.n]) > X.stored)
        throw std::invalid_argument("indptr of the CSR matrix reaches beyond its " + std::to_string(X.stored) +
                                    " stored cells");
}

[[noreturn]] void bad_index(std::size_t row, std::int64_t index, std::size_t d) {
    throw std::invalid_argument("row " + std::to_string(row) + " of the CSR matrix has index " + std::to_string(index) +
                                ", but there are " + std::to_string(d) + " columns");
}

template <typename I> void check_indices(const I* indices, std::size_t count, std::size_t d, std::size_t row) {
    using U = std::make_unsigned_t<I>;
    U top = 0;
    for (std::size_t i = 0; i < count; ++i) top = std::max(top, static_cast<U>(indices[i]));
    if (count && top >= d) bad_index(row, static_cast<I>(top), d);
}

// Four cells at a time: x − x is 0 for a finite x and NaN for any other.
template <typename V> int look(const V* data, std::size_t count) {
    Longs odd{}, negative{};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const Doubles x = load4(data + i);
        odd |= (x - x) != Doubles{};
        negative |= x < Doubles{};
    }
    int state = SOUND;
    for (int lane = 0; lane < 4; ++lane) state |= (odd[lane] ? NOT_FINITE : SOUND) | (negative[lane] ? NEGATIVE : SOUND);
    for (; i < count; ++i) state |= (data[i] - data[i] == V(0) ? SOUND : NOT_FINITE) | (data[i] < V(0) ? NEGATIVE : SOUND);
    return state;
}

int look(const std::int64_t* data, std::size_t count) {
    std::int64_t signs = 0;
    for (std::size_t i = 0; i < count; ++i) signs |= data[i];
    return signs < 0 ? NEGATIVE : SOUND;
}

// The cells of a row that is not the next in memory, fetched while another one is counted.
template <typename I, typename V> void fetch_row(const Sparse<I, V>& X, std::size_t row) {
    const auto from = static_cast<std::size_t>(X.indptr[row]), to = static_cast<std::size_t>(X.indptr[row + 1]);
    for (std::size_t i = from; i < to; i += 64 / sizeof(I)) __builtin_prefetch(X.indices + i);
    for (std::size_t i = from; X.data && i < to; i += 64 / sizeof(V)) __builtin_prefetch(X.data + i);
}

template <typename I, typename V, typename N>
int add_row(const Sparse<I, V>& X, std::size_t row, const double* w, N* __restrict table) {
    const auto from = static_cast<std::size_t>(X.indptr[row]), to = static_cast<std::size_t>(X.indptr[row + 1]);
    const I* __restrict index = X.indices;
    check_indices(index + from, to - from, X.d, row);
    if (!X.data && !w) {
        for (std::size_t i = from; i < to; ++i) table[index[i]] += N(1);
        return SOUND;
    }
    if (X.data && X.binary() && !w) {
        for (std::size_t i = from; i < to; ++i) table[index[i]] += N(static_cast<double>(X.data[i]) > X.threshold);
    } else if (X.data && !w) {
        for (std::size_t i = from; i < to; ++i) table[index[i]] += static_cast<N>(X.data[i]);
    } else {
        for (std::size_t i = from; i < to; ++i) table[index[i]] += static_cast<N>(w[row] * X.value(i));
    }
    return X.data ? look(X.data + from, to - from) : SOUND;
}

// The rows of a chunk class by class: the table of one class, and not those of all, is what has to stay in cache.
template <typename I, typename V, typename N>
int add_rows(const Sparse<I, V>& X, const Column& y, std::size_t K, const double* w, std::size_t begin, std::size_t end,
             N* table) {
    std::vector<std::uint32_t> classes(end - begin);
    read_classes(y, begin, end - begin, K, classes.data());
    std::vector<std::size_t> next(K + 1, 0);
    for (const auto k : classes) ++next[k + 1];
    for (std::size_t k = 0; k < K; ++k) next[k + 1] += next[k];
    std::vector<std::size_t> rows(end - begin);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[next[classes[r]]++] = begin + r;
    int state = SOUND;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (r + 3 < rows.size()) fetch_row(X, rows[r + 3]);
        state |= add_row(X, rows[r], w, table + classes[rows[r] - begin] * X.d);
    }
    return state;
}

template <typename N, typename I, typename V>
int count_chunks(const Sparse<I, V>& X, const Column& y, std::size_t K, const double* w, double* table,
                 std::size_t chunks, int threads) {
    const std::size_t share = (X.n + chunks - 1) / chunks, size = X.d * K;
    std::vector<std::vector<N>> tables(chunks);
    std::vector<int> states(chunks, SOUND);
    parallel_for(chunks, threads, [&](std::size_t c) {
        tables[c].assign(size, N(0));
        const std::size_t begin = std::min(X.n, c * share);
        states[c] = add_rows(X, y, K, w, begin, std::min(X.n, begin + share), tables[c].data());
    });
    int state = SOUND;
    for (const auto s : states) state |= s;
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t j = 0; j < X.d; ++j) {
            double sum = 0.0;
            for (std::size_t c = 0; c < chunks; ++c) sum += static_cast<double>(tables[c][k * X.d + j]);
            table[j * K + k] = sum;
        }
    return state;
}

// A row's sum. Long rows keep what rounding loses, for the terms may cancel against `start`.
template <typename I, typename V>
void score_long(const Sparse<I, V>& X, std::size_t from, std::size_t to, const double* table, std::size_t K,
                const double* start, double* out) {
    for (std::size_t k = 0; k < K; ++k) {
        double sum = start[k], lost = 0.0;
        for (std::size_t i = from; i < to; ++i) {
            const double value = X.value(i);
            const double term = value * table[static_cast<std::size_t>(X.indices[i]) * K + k];
            const double t = sum + term, back = t - sum;
            lost += (sum - (t - back)) + (term - back);
            sum = t;
        }
        out[k] = sum + lost;
    }
}

// Two sums by turns hide the wait for memory; each form of the loop adds in the same order, so that a row has the same
// bits whether it comes alone or among others.
template <typename I, typename V>
void score_narrow(const Sparse<I, V>& X, std::size_t from, std::size_t to, const double* table, std::size_t K,
                  const double* start, double* out) {
    for (std::size_t k = 0; k < K; ++k) {
        double sums[2] = {0.0, 0.0};
        for (std::size_t i = from; i < to; ++i) {
            const double value = X.value(i);
            double& sum = sums[(i - from) & 1];
            sum = sum + value * table[static_cast<std::size_t>(X.indices[i]) * K + k];
        }
        out[k] = start[k] + (sums[0] + sums[1]);
    }
}

template <typename I, typename V, int Q>
void score_short(const Sparse<I, V>& X, std::size_t from, std::size_t to, const double* table, std::size_t stride,
                 double* out) {
    Doubles even[Q] = {}, odd[Q] = {};
    std::size_t i = from;
    auto add = [&](Doubles* sums, std::size_t at) {
        const double value = X.value(at);
        const double* row = table + static_cast<std::size_t>(X.indices[at]) * stride;
        for (int q = 0; q < Q; ++q) sums[q] += load4(row + 4 * q) * value;
    };
    for (; i + 2 <= to; i += 2) {
        add(even, i);
        add(odd, i + 1);
    }
    if (i < to) add(even, i);
    for (int q = 0; q < Q; ++q) store4(out + 4 * q, even[q] + odd[q]);
}

}  // namespace

template <typename I, typename V>
int count_sparse(const Sparse<I, V>& X, const Column& y, std::size_t K, const double* w, double* table, int threads) {
    check_shape(X);
    if (!X.n) return SOUND;
    // the chunks depend on the shape alone, never on the threads
    const auto stored = static_cast<std::size_t>(X.indptr[X.n] - X.indptr[0]);
    const std::size_t worth = stored / (X.d * K + 65536);
    const std::size_t chunks = std::clamp<std::size_t>(worth, 1, 4);
    if (!w && (!X.data || X.binary()) && stored < 0xffffffffu)
        return count_chunks<std::uint32_t>(X, y, K, w, table, chunks, threads);
    return count_chunks<double>(X, y, K, w, table, chunks, threads);
}

template <typename I, typename V>
int score_sparse(const Sparse<I, V>& X, const double* given, std::size_t K, const Scores& to, int threads) {
    check_shape(X);
    const std::size_t stride = K <= 16 ? (K + 3) / 4 * 4 : K;
    std::vector<double> padded;
    const bool pad = stride != K && X.n >= 16 && static_cast<std::size_t>(X.indptr[X.n] - X.indptr[0]) > X.d;
    if (pad) {
        padded.assign(X.d * stride, 0.0);
        for (std::size_t j = 0; j < X.d; ++j)
            std::copy_n(given + j * K, K, padded.begin() + static_cast<std::ptrdiff_t>(j * stride));
    }
    const bool wide = pad || stride == K;
    const double* table = pad ? padded.data() : given;
    const std::size_t blocks = (X.n + ROWS - 1) / ROWS;
    std::vector<int> states(blocks, SOUND);
    parallel_for(blocks, threads, [&](std::size_t b) {
        for (std::size_t r = b * ROWS; r < std::min(X.n, (b + 1) * ROWS); ++r) {
            const auto from = static_cast<std::size_t>(X.indptr[r]), end = static_cast<std::size_t>(X.indptr[r + 1]);
            check_indices(X.indices + from, end - from, X.d, r);
            if (X.data) states[b] |= look(X.data + from, end - from);
            const double* start = to.start + r * to.start_stride;
            double* out = to.out + r * K;
            if (end - from > ROWS || !wide || stride > 16) {
                if (end - from > ROWS) score_long(X, from, end, given, K, start, out);
                else score_narrow(X, from, end, given, K, start, out);
                continue;
            }
            double sums[16];
            switch (stride / 4) {
                case 1: score_short<I, V, 1>(X, from, end, table, stride, sums); break;
                case 2: score_short<I, V, 2>(X, from, end, table, stride, sums); break;
                case 3: score_short<I, V, 3>(X, from, end, table, stride, sums); break;
                default: score_short<I, V, 4>(X, from, end, table, stride, sums);
            }
            for (std::size_t k = 0; k < K; ++k) out[k] = start[k] + sums[k];
        }
    });
    int state = SOUND;
    for (const auto s : states) state |= s;
    return state;
}

#define SPARSE(I, V)                                                                                            \
    template int count_sparse<I, V>(const Sparse<I, V>&, const Column&, std::size_t, const double*, double*, int); \
    template int score_sparse<I, V>(const Sparse<I, V>&, const double*, std::size_t, const Scores&, int);
SPARSE(std::int32_t, double)
SPARSE(std::int32_t, float)
SPARSE(std::int32_t, std::int64_t)
SPARSE(std::int64_t, double)
SPARSE(std::int64_t, float)
SPARSE(std::int64_t, std::int64_t)
#undef SPARSE

}  // namespace posteriori
