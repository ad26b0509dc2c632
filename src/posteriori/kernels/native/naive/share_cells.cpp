// N[cell, y] by shares: a row gives r[row, y] to every class y at once. Chunks of rows and their order are those of weighted
// counting (count_cells.cpp), so that a share of one is that row counted, to the last bit.
#include <algorithm>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t ROWS = 512;             // rows whose cells are looked up together
constexpr std::size_t TOGETHER = 8;           // columns: a sum need not wait for the one before it in its own column
constexpr std::size_t BIG_TABLE = 1u << 19;   // as in count_cells.cpp

// Where the cells of a block of one column begin in the table, checked.
template <typename C>
void look_up(const Cells& cells, std::size_t j, std::size_t begin, std::size_t count, std::size_t K, std::size_t* at) {
    const Column& c = cells.columns[j];
    const std::uint64_t top = greatest<C>(c, begin, count);
    if (count && top >= cells.size(j)) bad_code(j, top, cells.size(j));
    const auto first = static_cast<std::size_t>(cells.offsets[j]);
    const unsigned char* p = c.at(begin);
    for (std::size_t r = 0; r < count; ++r, p += c.stride) at[r * TOGETHER] = (first + read_code<C>(p)) * K;
}

// The classes from `k` on, four, two or one at a time.
template <typename Lanes> inline void add(double* to, Lanes share) {
    Lanes sum;
    std::memcpy(&sum, to, sizeof sum);
    sum += share;
    std::memcpy(to, &sum, sizeof sum);
}
typedef double Two __attribute__((vector_size(16)));
template <typename Lanes> inline Lanes take(const double* from) {
    Lanes share;
    std::memcpy(&share, from, sizeof share);
    return share;
}

template <typename Lanes>
void add_lanes(const std::size_t* at, std::size_t columns, std::size_t count, const double* shares, std::size_t K,
               std::size_t k, double* table) {
    for (std::size_t r = 0; r < count; ++r) {
        const Lanes share = take<Lanes>(shares + r * K + k);
        for (std::size_t c = 0; c < columns; ++c) add(table + at[r * TOGETHER + c] + k, share);
    }
}

void add_rows(const Cells& cells, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, const double* shares,
              std::size_t K, double* table) {
    std::vector<std::size_t> at(ROWS * TOGETHER);
    for (std::size_t b = begin; b < end; b += ROWS) {
        const std::size_t count = std::min(ROWS, end - b);
        for (std::size_t first = from; first < to; first += TOGETHER) {
            const std::size_t columns = std::min(TOGETHER, to - first);
            for (std::size_t c = 0; c < columns; ++c) {
                const int width = cells.columns[first + c].width;
                if (width == 1) look_up<std::uint8_t>(cells, first + c, b, count, K, at.data() + c);
                else if (width == 2) look_up<std::uint16_t>(cells, first + c, b, count, K, at.data() + c);
                else if (width == 4) look_up<std::uint32_t>(cells, first + c, b, count, K, at.data() + c);
                else look_up<std::uint64_t>(cells, first + c, b, count, K, at.data() + c);
            }
            const double* own = shares + b * K;
            std::size_t k = 0;
            for (; k + 4 <= K; k += 4) add_lanes<Doubles>(at.data(), columns, count, own, K, k, table);
            for (; k + 2 <= K; k += 2) add_lanes<Two>(at.data(), columns, count, own, K, k, table);
            for (; k < K; ++k) add_lanes<double>(at.data(), columns, count, own, K, k, table);
        }
    }
}

}  // namespace

void share_cells(const Cells& cells, std::size_t K, const double* shares, double* table, int threads) {
    const std::size_t d = cells.columns.size(), size = cells.total() * K;
    if (!d || !cells.n || !K) return;
    if (size > BIG_TABLE) {
        parallel_for(d, threads, [&](std::size_t j) { add_rows(cells, j, j + 1, 0, cells.n, shares, K, table); });
        return;
    }
    const std::size_t tasks = std::min<std::size_t>(16, (cells.n + 65535) / 65536), share = (cells.n + tasks - 1) / tasks;
    std::vector<std::vector<double>> tables(tasks);
    parallel_for(tasks, threads, [&](std::size_t t) {
        if (t) tables[t].assign(size, 0.0);
        add_rows(cells, 0, d, std::min(cells.n, t * share), std::min(cells.n, (t + 1) * share), shares, K,
                 t ? tables[t].data() : table);
    });
    for (std::size_t t = 1; t < tasks; ++t)
        for (std::size_t k = 0; k < size; ++k) table[k] += tables[t][k];
}

}  // namespace posteriori
