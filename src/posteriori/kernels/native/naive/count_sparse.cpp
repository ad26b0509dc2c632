// N[j, y] = Σ w·x over the stored cells of CSR rows, in chunks of rows that are merged in order.
#include "large.hpp"
#include "stored.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

// Rows in the order of memory: what is read is then fetched ahead, and costs less than the additions scattered over the table.
template <typename I>
int add_rows(const Sparse<I>& X, const Column& y, std::size_t K, const double* w, std::size_t first, std::size_t last,
             double* table) {
    constexpr std::size_t ROWS = 256;
    Block<I> block(X);
    std::uint32_t classes[ROWS];
    for (std::size_t row = first; row < last;) {
        const std::size_t stop = block.read(row, std::min(last, row + ROWS));
        read_classes(y, row, stop - row, K, classes);
        for (std::size_t r = row; r < stop; ++r) {
            const auto from = static_cast<std::size_t>(X.indptr[r]), count = static_cast<std::size_t>(X.indptr[r + 1]) - from;
            const I* __restrict index = block.index(from);
            const double* __restrict x = block.value(from);
            double* __restrict own = table + classes[r - row];
            const double weight = w ? w[r] : 1.0;
            if (w)
                for (std::size_t i = 0; i < count; ++i) own[static_cast<std::size_t>(index[i]) * K] += weight * x[i];
            else
                for (std::size_t i = 0; i < count; ++i) own[static_cast<std::size_t>(index[i]) * K] += x[i];
        }
        row = stop;
    }
    return block.state;
}

}  // namespace

template <typename I>
int count_sparse(const Sparse<I>& X, const Column& y, std::size_t K, const double* w, double* table, int threads) {
    check_shape(X);
    if (!X.n) return SOUND;
    // the chunks, of which each but the first costs a table, depend on the cells alone, never on the threads
    const auto begin = static_cast<std::size_t>(X.indptr[0]), stored = static_cast<std::size_t>(X.indptr[X.n]) - begin;
    const std::size_t size = X.d * K, worth = stored / (2 * size + 65536), chunks = worth < 2 ? 1 : worth < 8 ? 2 : 4;
    std::vector<std::size_t> ends(chunks + 1, 0);
    for (std::size_t c = 1; c < chunks; ++c)
        ends[c] = static_cast<std::size_t>(
            std::lower_bound(X.indptr, X.indptr + X.n, static_cast<I>(begin + stored / chunks * c)) - X.indptr);
    ends[chunks] = X.n;
    std::vector<Numbers> tables;
    for (std::size_t c = 1; c < chunks; ++c) tables.push_back(numbers(size));
    std::vector<int> states(chunks, SOUND);
    parallel_for(chunks, threads, [&](std::size_t c) {
        double* own = c ? tables[c - 1].get() : table;
        if (c) std::fill_n(own, size, 0.0);
        states[c] = add_rows(X, y, K, w, ends[c], ends[c + 1], own);
    });
    constexpr std::size_t PIECE = 1u << 16;
    parallel_for(chunks > 1 ? (size + PIECE - 1) / PIECE : 0, threads, [&](std::size_t p) {
        for (const auto& other : tables)
            for (std::size_t i = p * PIECE; i < std::min(size, (p + 1) * PIECE); ++i) table[i] += other[i];
    });
    int state = SOUND;
    for (const auto s : states) state |= s;
    return state;
}

template int count_sparse<std::int32_t>(const Sparse<std::int32_t>&, const Column&, std::size_t, const double*, double*, int);
template int count_sparse<std::int64_t>(const Sparse<std::int64_t>&, const Column&, std::size_t, const double*, double*, int);

}  // namespace posteriori
