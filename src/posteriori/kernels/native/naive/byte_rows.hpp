// Blocks of rows of bytes out of a matrix of bytes, by rows or by columns, or out of columns of bytes that lie apart.
#pragma once
#include <algorithm>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "naive.hpp"

namespace posteriori {

class ByteRows {
  public:
    // Rows side by side, or so many contiguous columns that it pays to turn them.
    static bool suits(const Cells& cells) {
        if (cells.row_major && cells.columns[0].width == 1) return true;
        for (const Column& c : cells.columns)
            if (c.width != 1 || c.stride != 1) return false;
        return cells.columns.size() >= SIDE / 2;
    }

    explicit ByteRows(const Cells& cells_)
        : reach((cells_.columns.size() + 31) / 32 * 32), cells(cells_), d(cells.columns.size()), turned(!cells.row_major) {
        const Column& first = cells.columns[0];
        end = std::max(first.at(0), first.at(cells.n - 1)) + d;
    }

    const std::size_t reach;  // so many bytes of a row can be read, the last ones of which are anything

    // Where the first of `count` rows is, and how far the next: in the matrix, or in `copies`, which has room for whole sixteens
    // of rows. Rows are turned, and copied where reading them would leave the matrix.
    std::pair<const unsigned char*, std::ptrdiff_t> block(std::size_t begin, std::size_t count, unsigned char* copies) const {
        const unsigned char* base = cells.columns[0].at(begin);
        const std::ptrdiff_t stride = cells.columns[0].stride;
        if (turned) {
            turn(begin, count, copies);
        } else {
            const unsigned char* last = base + static_cast<std::ptrdiff_t>(count - 1) * stride;
            if (end - std::max(base, last) >= static_cast<std::ptrdiff_t>(reach)) return {base, stride};
            for (std::size_t r = 0; r < count; ++r, base += stride) std::copy_n(base, d, copies + r * reach);
        }
        return {copies, static_cast<std::ptrdiff_t>(reach)};
    }

  private:
    static constexpr std::size_t SIDE = 16, AHEAD = 256;

    void turn(std::size_t begin, std::size_t count, unsigned char* copies) const {
        for (std::size_t j = 0; j < d; j += SIDE)
            for (std::size_t r = 0; r < count; r += SIDE) {
#ifdef __SSE2__
                if (begin + r + SIDE <= cells.n) {
                    turn_square(begin + r, j, copies + r * reach + j);
                    continue;
                }
#endif
                for (std::size_t k = j; k < std::min(d, j + SIDE); ++k)
                    for (std::size_t i = r; i < std::min(count, r + SIDE); ++i) copies[i * reach + k] = *cells.columns[k].at(begin + i);
            }
    }

#ifdef __SSE2__
    void turn_square(std::size_t begin, std::size_t j, unsigned char* to) const {
        __m128i a[SIDE], b[SIDE];
        for (std::size_t k = 0; k < SIDE; ++k) {
            const unsigned char* p = j + k < d ? cells.columns[j + k].at(begin) : nullptr;
            if (p && begin % 64 < SIDE) __builtin_prefetch(p + AHEAD);
            a[k] = p ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)) : _mm_setzero_si128();
        }
        for (int round = 0; round < 4; ++round) {  // four perfect shuffles of bytes are a transposition
            for (std::size_t k = 0; k < SIDE / 2; ++k) {
                b[2 * k] = _mm_unpacklo_epi8(a[k], a[k + 8]);
                b[2 * k + 1] = _mm_unpackhi_epi8(a[k], a[k + 8]);
            }
            std::copy_n(b, SIDE, a);
        }
        for (std::size_t k = 0; k < SIDE; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k * reach), a[k]);
    }
#endif

    const Cells& cells;
    const std::size_t d;
    const bool turned;
    const unsigned char* end;
};

}  // namespace posteriori
