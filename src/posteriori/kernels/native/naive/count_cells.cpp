// N[cell, y]: counting codes by class. Integer counts are exact, so rows are dealt to threads at will; weighted counts are
// summed over fixed chunks of rows, merged in order.
#include <algorithm>
#include <memory>
#include <optional>

#include "naive.hpp"
#include "strips.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t BLOCK = Strips::BLOCK;     // rows whose classes and codes stay in cache
constexpr std::size_t BIG_TABLE = 1u << 19;      // cells above which threads share one table by columns
constexpr std::size_t MOST_KEYS = 64;            // (value, class) pairs, likewise, for contiguous columns

// The greatest code of a block of one column, refused if its table does not have it.
template <typename C> void check_block(const Cells& cells, std::size_t j, std::size_t begin, std::size_t count) {
    const std::uint64_t top = greatest<C>(cells.columns[j], begin, count);
    if (count && top >= cells.size(j)) bad_code(j, top, cells.size(j));
}

// One column, one block, one code at a time. Small tables are kept fourfold: equal neighbours would otherwise wait for
// each other's store.
template <typename C>
void count_plain(const Column& c, std::size_t begin, std::size_t count, const std::uint32_t* y, std::size_t cells,
                 std::size_t K, std::int64_t* table) {
    const unsigned char* p = c.at(begin);
    auto code = [&](std::size_t r) -> std::size_t {
        return read_code<C>(p + static_cast<std::ptrdiff_t>(r) * c.stride);
    };
    if (cells * K > 256 || count < 64) {
        for (std::size_t r = 0; r < count; ++r) ++table[code(r) * K + y[r]];
        return;
    }
    std::uint32_t local[4][256] = {};
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4)
        for (std::size_t i = 0; i < 4; ++i) ++local[i][code(r + i) * K + y[r + i]];
    for (; r < count; ++r) ++local[0][code(r) * K + y[r]];
    for (std::size_t k = 0; k < cells * K; ++k)
        table[k] += std::int64_t{local[0][k]} + local[1][k] + local[2][k] + local[3][k];
}

// One contiguous column of bytes: keys value + cells·class, 32 at a time, compared with four pairs at once.
void count_keys(const std::uint8_t* x, std::size_t count, const std::uint32_t* y, std::size_t cells, std::size_t K,
                std::int64_t* table) {
    alignas(32) std::uint8_t keys[BLOCK];
    for (std::size_t r = 0; r < count; ++r) keys[r] = static_cast<std::uint8_t>(x[r] + y[r] * cells);
    const std::size_t padded = (count + 31) / 32 * 32;
    std::memset(keys + count, 255, padded - count);
    for (std::size_t key = 0; key < cells * K; key += 4) {
        Bytes sums[4] = {}, wanted[4];
        for (std::size_t i = 0; i < 4; ++i) wanted[i] = all_bytes(static_cast<std::uint8_t>(key + i));
        for (std::size_t r = 0; r < padded; r += 32) {  // at most 128 steps: a byte does not overflow
            const Bytes k = load_bytes(keys + r);
            for (std::size_t i = 0; i < 4; ++i) sums[i] -= reinterpret_cast<Bytes>(k == wanted[i]);
        }
        for (std::size_t i = 0; i < 4 && key + i < cells * K; ++i) {
            std::uint32_t sum = 0;
            for (int lane = 0; lane < 32; ++lane) sum += sums[i][lane];
            table[(key + i) % cells * K + (key + i) / cells] += sum;
        }
    }
}

template <typename C>
void count_column(const Cells& cells, std::size_t j, std::size_t begin, std::size_t count, const std::uint32_t* y,
                  std::size_t K, std::int64_t* table) {
    const Column& c = cells.columns[j];
    const std::size_t size = cells.size(j);
    check_block<C>(cells, j, begin, count);
    std::int64_t* own = table + cells.offsets[j] * static_cast<std::int64_t>(K);
    if (sizeof(C) == 1 && c.stride == 1 && size * K <= MOST_KEYS && count >= 256)
        count_keys(c.data + begin, count, y, size, K, own);
    else
        count_plain<C>(c, begin, count, y, size, K, own);
}

void count_columns(const Cells& cells, std::size_t from, std::size_t to, std::size_t begin, std::size_t count,
                   const std::uint32_t* y, std::size_t K, std::int64_t* table) {
    for (std::size_t j = from; j < to; ++j) {
        const int width = cells.columns[j].width;
        if (width == 1) count_column<std::uint8_t>(cells, j, begin, count, y, K, table);
        else if (width == 2) count_column<std::uint16_t>(cells, j, begin, count, y, K, table);
        else if (width == 4) count_column<std::uint32_t>(cells, j, begin, count, y, K, table);
        else count_column<std::uint64_t>(cells, j, begin, count, y, K, table);
    }
}

std::size_t block_rows(const Cells& cells) {  // a block of a row-major matrix stays in the second cache
    if (!cells.row_major) return BLOCK;
    return std::clamp<std::size_t>((std::size_t{1} << 18) / (cells.columns.size() * cells.columns[0].width), 256, BLOCK);
}

template <typename C>
void add_column(const Cells& cells, std::size_t j, std::size_t begin, std::size_t count, const std::uint32_t* y,
                const double* w, std::size_t K, double* table) {
    const Column& c = cells.columns[j];
    check_block<C>(cells, j, begin, count);
    double* own = table + cells.offsets[j] * static_cast<std::int64_t>(K);
    const unsigned char* p = c.at(begin);
    for (std::size_t r = 0; r < count; ++r, p += c.stride) own[read_code<C>(p) * K + y[r]] += w[r];
}

void add_rows(const Cells& cells, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, const Column& y,
              const double* w, std::size_t K, double* table) {
    std::vector<std::uint32_t> classes(BLOCK);
    const std::size_t step = block_rows(cells);
    for (std::size_t b = begin; b < end; b += step) {
        const std::size_t count = std::min(step, end - b);
        read_classes(y, b, count, K, classes.data());
        for (std::size_t j = from; j < to; ++j) {
            const int width = cells.columns[j].width;
            if (width == 1) add_column<std::uint8_t>(cells, j, b, count, classes.data(), w + b, K, table);
            else if (width == 2) add_column<std::uint16_t>(cells, j, b, count, classes.data(), w + b, K, table);
            else if (width == 4) add_column<std::uint32_t>(cells, j, b, count, classes.data(), w + b, K, table);
            else add_column<std::uint64_t>(cells, j, b, count, classes.data(), w + b, K, table);
        }
    }
}

}  // namespace

void count_cells(const Cells& cells, const Column& y, std::size_t K, std::int64_t* table, int threads) {
    const std::size_t d = cells.columns.size(), size = cells.total() * K;
    if (!d || !cells.n) return;
    const bool strips = Strips::suits(cells, K);
    auto count = [&](std::size_t from, std::size_t to, std::size_t begin, std::size_t end, std::int64_t* into) {
        std::optional<Strips> counts;
        if (strips) counts.emplace(cells, K);
        const std::size_t step = strips ? counts->block() : block_rows(cells);
        std::vector<std::uint32_t> classes(BLOCK);
        for (std::size_t b = begin; b < end; b += step) {
            const std::size_t rows = std::min(step, end - b);
            read_classes(y, b, rows, K, classes.data());
            if (strips) counts->add(b, rows, classes.data());
            else count_columns(cells, from, to, b, rows, classes.data(), K, into);
        }
        if (strips) counts->put(into);
    };
    if (size > BIG_TABLE && !strips) {
        parallel_for(d, threads, [&](std::size_t j) { count(j, j + 1, 0, cells.n, table); });
        return;
    }
    const std::size_t tasks = std::max(1, threads), share = (cells.n + tasks - 1) / tasks;
    std::vector<std::vector<std::int64_t>> tables(tasks);
    parallel_for(tasks, threads, [&](std::size_t t) {
        if (t) tables[t].assign(size, 0);
        count(0, d, std::min(cells.n, t * share), std::min(cells.n, (t + 1) * share), t ? tables[t].data() : table);
    });
    for (std::size_t t = 1; t < tasks; ++t)
        for (std::size_t k = 0; k < size; ++k) table[k] += tables[t][k];
}

void count_cells(const Cells& cells, const Column& y, std::size_t K, const double* w, double* table, int threads) {
    const std::size_t d = cells.columns.size(), size = cells.total() * K;
    if (!d || !cells.n) return;
    if (size > BIG_TABLE) {
        parallel_for(d, threads, [&](std::size_t j) { add_rows(cells, j, j + 1, 0, cells.n, y, w, K, table); });
        return;
    }
    const std::size_t tasks = std::min<std::size_t>(16, (cells.n + 65535) / 65536), share = (cells.n + tasks - 1) / tasks;
    std::vector<std::vector<double>> tables(tasks);
    parallel_for(tasks, threads, [&](std::size_t t) {
        if (t) tables[t].assign(size, 0.0);
        add_rows(cells, 0, d, std::min(cells.n, t * share), std::min(cells.n, (t + 1) * share), y, w, K,
                 t ? tables[t].data() : table);
    });
    for (std::size_t t = 1; t < tasks; ++t)
        for (std::size_t k = 0; k < size; ++k) table[k] += tables[t][k];
}

}  // namespace posteriori
