// start[y] + Σ_j log θ[code_j, y]. Columns are summed in groups of 256 and the groups added, so that 10⁵ columns lose no
// digits; a row has the same bits whether it comes alone or among others.
#include <algorithm>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t GROUP = 256;  // columns summed before they are added to the rest
constexpr std::size_t ROWS = 256;   // rows of a block

void begin_block(const Scores& to, std::size_t begin, std::size_t count, std::size_t K) {
    for (std::size_t r = begin; r < begin + count; ++r)
        std::copy_n(to.start + r * to.start_stride, K, to.out + r * K);
}

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
    std::vector<double> sums(K);
    for (std::size_t r = begin; r < begin + count; ++r) {
        double* out = to.out + r * K;
        for (std::size_t from = 0; from < d; from += GROUP) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t j = from; j < std::min(d, from + GROUP); ++j) {
                const std::size_t code = code_at(cells.columns[j], r), size = cells.size(j);
                if (code >= size) bad_code(j, code, size);
                const double* cell = theta + (static_cast<std::size_t>(cells.offsets[j]) + code) * K;
                for (std::size_t k = 0; k < K; ++k) sums[k] += cell[k];
            }
            for (std::size_t k = 0; k < K; ++k) out[k] += sums[k];
        }
    }
}

// Sums of a group of columns for a block of rows, Q vectors of four classes each, columns read down the block.
template <typename C, int Q>
void add_column(const Cells& cells, std::size_t j, const double* padded, std::size_t q, std::size_t stride,
                std::size_t begin, std::size_t count, Doubles (*sums)[Q]) {
    const Column& c = cells.columns[j];
    const std::uint64_t top = greatest<C>(c, begin, count);
    if (top >= cells.size(j)) bad_code(j, top, cells.size(j));
    const double* own = padded + static_cast<std::size_t>(cells.offsets[j]) * stride + 4 * q;
    const unsigned char* p = c.at(begin);
    for (std::size_t r = 0; r < count; ++r, p += c.stride) {
        const double* cell = own + read_code<C>(p) * stride;
        for (int i = 0; i < Q; ++i) sums[r][i] += load4(cell + 4 * i);
    }
}

// The same for rows of contiguous codes: four rows at a time, their sums in registers.
template <typename C, int Q>
void add_rows(const Cells& cells, std::size_t from, std::size_t to, const double* padded, std::size_t q,
              std::size_t stride, std::size_t begin, std::size_t count, Doubles (*sums)[Q]) {
    const Column& first = cells.columns[from];
    const std::int64_t* offsets = cells.offsets + from;
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4) {
        const unsigned char* p[4];
        for (std::size_t i = 0; i < 4; ++i) p[i] = first.at(begin + r + i);
        Doubles own[4][Q] = {};
        for (std::size_t j = 0; j < to - from; ++j) {
            const double* cell = padded + static_cast<std::size_t>(offsets[j]) * stride + 4 * q;
            for (std::size_t i = 0; i < 4; ++i)
                for (int v = 0; v < Q; ++v)
                    own[i][v] += load4(cell + read_code<C>(p[i] + j * sizeof(C)) * stride + 4 * v);
        }
        for (std::size_t i = 0; i < 4; ++i)
            for (int v = 0; v < Q; ++v) sums[r + i][v] = own[i][v];
    }
    for (; r < count; ++r) {
        const unsigned char* p = first.at(begin + r);
        for (int v = 0; v < Q; ++v) sums[r][v] = Doubles{};
        for (std::size_t j = 0; j < to - from; ++j) {
            const double* cell = padded + static_cast<std::size_t>(offsets[j]) * stride + 4 * q;
            for (int v = 0; v < Q; ++v) sums[r][v] += load4(cell + read_code<C>(p + j * sizeof(C)) * stride + 4 * v);
        }
    }
}

// The codes of a block of contiguous rows of bytes, checked 32 columns at a time where that stays inside the row.
template <typename C>
void check_rows(const Cells& cells, std::size_t from, std::size_t to, std::size_t begin, std::size_t count) {
    std::size_t j = from;
    if (sizeof(C) == 1) {
        for (; j + 32 <= to; j += 32) {
            Bytes top{};
            for (std::size_t r = 0; r < count; ++r) top = max_bytes(load_bytes(cells.columns[j].at(begin + r)), top);
            for (std::size_t i = 0; i < 32; ++i)
                if (top[i] >= cells.size(j + i)) bad_code(j + i, top[i], cells.size(j + i));
        }
    }
    C top[32] = {};
    for (std::size_t r = 0; r < count && j < to; ++r) {
        const unsigned char* p = cells.columns[from].at(begin + r);
        for (std::size_t i = j; i < std::min(to, j + 32); ++i) {
            const C code = read_code<C>(p + (i - from) * sizeof(C));
            top[i - j] = code > top[i - j] ? code : top[i - j];
        }
    }
    for (std::size_t i = j; i < std::min(to, j + 32); ++i)
        if (top[i - j] >= cells.size(i)) bad_code(i, top[i - j], cells.size(i));
    if (j + 32 < to) check_rows<C>(cells, j + 32, to, begin, count);
}

template <typename C, int Q>
void add_group(const Cells& cells, std::size_t from, std::size_t to, const double* padded, std::size_t q,
               std::size_t stride, std::size_t begin, std::size_t count, Doubles (*sums)[Q]) {
    if (q == 0) check_rows<C>(cells, from, to, begin, count);
    add_rows<C, Q>(cells, from, to, padded, q, stride, begin, count, sums);
}

template <int Q>
void score_block(const Cells& cells, const double* padded, std::size_t q, std::size_t stride, std::size_t K,
                 const Scores& scores, std::size_t begin, std::size_t count) {
    alignas(32) Doubles sums[ROWS][Q];
    const std::size_t d = cells.columns.size(), width = std::min<std::size_t>(4 * Q, K - 4 * q);
    for (std::size_t from = 0; from < d; from += GROUP) {
        const std::size_t to = std::min(d, from + GROUP);
        if (cells.row_major) {
            const int bytes = cells.columns[0].width;
            if (bytes == 1) add_group<std::uint8_t, Q>(cells, from, to, padded, q, stride, begin, count, sums);
            else if (bytes == 2) add_group<std::uint16_t, Q>(cells, from, to, padded, q, stride, begin, count, sums);
            else if (bytes == 4) add_group<std::uint32_t, Q>(cells, from, to, padded, q, stride, begin, count, sums);
            else add_group<std::uint64_t, Q>(cells, from, to, padded, q, stride, begin, count, sums);
        } else {
            for (std::size_t r = 0; r < count; ++r)
                for (int v = 0; v < Q; ++v) sums[r][v] = Doubles{};
            for (std::size_t j = from; j < to; ++j) {
                const int bytes = cells.columns[j].width;
                if (bytes == 1) add_column<std::uint8_t, Q>(cells, j, padded, q, stride, begin, count, sums);
                else if (bytes == 2) add_column<std::uint16_t, Q>(cells, j, padded, q, stride, begin, count, sums);
                else if (bytes == 4) add_column<std::uint32_t, Q>(cells, j, padded, q, stride, begin, count, sums);
                else add_column<std::uint64_t, Q>(cells, j, padded, q, stride, begin, count, sums);
            }
        }
        for (std::size_t r = 0; r < count; ++r) {
            double* out = scores.out + (begin + r) * K + 4 * q;
            const double* row = reinterpret_cast<const double*>(sums[r]);
            for (std::size_t k = 0; k < width; ++k) out[k] += row[k];
        }
    }
}

}  // namespace

std::int64_t score_cells(const Cells& cells, const double* theta, std::size_t K, const Scores& to, int threads) {
    const std::size_t n = cells.n, d = cells.columns.size(), total = d ? cells.total() : 0;
    const std::size_t stride = (K + 3) / 4 * 4;
    const bool plain = n < 16 || n * d < total;
    std::vector<double> padded;
    if (!plain && stride != K) {  // vectors of four classes, the last ones padded with zeros
        padded.assign(total * stride, 0.0);
        for (std::size_t cell = 0; cell < total; ++cell)
            std::copy_n(theta + cell * K, K, padded.begin() + static_cast<std::ptrdiff_t>(cell * stride));
    }
    const double* table = plain || stride == K ? theta : padded.data();
    const std::size_t blocks = (n + ROWS - 1) / ROWS;
    std::vector<std::int64_t> impossible(blocks, NONE);
    parallel_for(blocks, threads, [&](std::size_t b) {
        const std::size_t begin = b * ROWS, count = std::min(ROWS, n - begin);
        begin_block(to, begin, count, K);
        if (plain) score_plain(cells, table, K, to, begin, count);
        else {
            std::size_t q = 0;
            for (; q + 2 <= stride / 4; q += 2) score_block<2>(cells, table, q, stride, K, to, begin, count);
            if (q < stride / 4) score_block<1>(cells, table, q, stride, K, to, begin, count);
        }
        double* out = to.out + begin * K;
        if (!to.posterior) return;
        impossible[b] = normalise_block(out, count, K, out, nullptr);
        if (impossible[b] != NONE) impossible[b] += static_cast<std::int64_t>(begin);
    });
    for (const auto row : impossible)
        if (row != NONE) return row;
    return NONE;
}

}  // namespace posteriori
