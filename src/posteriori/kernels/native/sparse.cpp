// Counting and scoring the stored cells of CSR rows. Sums over fixed chunks of rows, merged in order.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "codes.hpp"
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

template <typename V> int look(const V* data, std::size_t count) {
    int state = SOUND;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::is_floating_point<V>::value && !std::isfinite(static_cast<double>(data[i]))) state |= NOT_FINITE;
        else if (data[i] < V(0)) state |= NEGATIVE;
    }
    return state;
}

template <typename I, typename V, typename N>
int add_rows(const Sparse<I, V>& X, const Column& y, std::size_t K, const double* w, std::size_t begin, std::size_t end,
             N* table) {
    std::uint32_t classes[ROWS];
    int state = SOUND;
    for (std::size_t b = begin; b < end; b += ROWS) {
        const std::size_t count = std::min(ROWS, end - b);
        read_classes(y, b, count, K, classes);
        for (std::size_t r = 0; r < count; ++r) {
            const auto from = static_cast<std::size_t>(X.indptr[b + r]), to = static_cast<std::size_t>(X.indptr[b + r + 1]);
            check_indices(X.indices + from, to - from, X.d, b + r);
            N* own = table + classes[r];
            const I* index = X.indices;
            if (X.data) state |= look(X.data + from, to - from);
            if (!w && (!X.data || X.binary())) {
                for (std::size_t i = from; i < to; ++i)
                    own[static_cast<std::size_t>(index[i]) * K] +=
                        N(!X.data || static_cast<double>(X.data[i]) > X.threshold);
            } else {
                const double weight = w ? w[b + r] : 1.0;
                for (std::size_t i = from; i < to; ++i)
                    own[static_cast<std::size_t>(index[i]) * K] +=
                        static_cast<N>(weight * X.value(i));
            }
        }
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
    for (std::size_t c = 0; c < chunks; ++c) {
        state |= states[c];
        for (std::size_t k = 0; k < size; ++k) table[k] += static_cast<double>(tables[c][k]);
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
    const std::size_t chunks = std::clamp<std::size_t>(worth, 1, 8);
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
