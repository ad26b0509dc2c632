// Blocks of coded columns, of any width and stride, read into contiguous buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codes.hpp"

namespace posteriori {

template <typename From, typename To>
inline std::uint32_t copy_codes(const unsigned char* from, std::ptrdiff_t stride, std::size_t n, To* to) {
    std::uint32_t most = 0;
    if (stride == sizeof(From)) {
        for (std::size_t r = 0; r < n; ++r) {
            const From code = read_code<From>(from + r * sizeof(From));
            most = code > most ? code : most;
            to[r] = static_cast<To>(code);
        }
    } else {
        for (std::size_t r = 0; r < n; ++r, from += stride) {
            const From code = read_code<From>(from);
            most = code > most ? code : most;
            to[r] = static_cast<To>(code);
        }
    }
    return most;
}

// Rows [begin, begin + n) of a column and their largest code; throws where that is above `limit`.
template <typename To>
inline std::uint32_t read_codes(const Column& column, std::size_t begin, std::size_t n, std::uint32_t limit,
                                const char* what, std::size_t j, To* to) {
    const unsigned char* from = column.at(begin);
    const std::uint32_t most = column.width == 1   ? copy_codes<std::uint8_t>(from, column.stride, n, to)
                               : column.width == 2 ? copy_codes<std::uint16_t>(from, column.stride, n, to)
                                                   : copy_codes<std::uint32_t>(from, column.stride, n, to);
    if (most > limit)
        throw std::out_of_range(std::string(what) + " " + std::to_string(j) + " has the code " + std::to_string(most) +
                                " in rows " + std::to_string(begin) + " to " + std::to_string(begin + n) +
                                "; the largest allowed is " + std::to_string(limit));
    return most;
}

constexpr std::size_t kSide = 16;  // neighbouring byte columns that are read together

// Whether columns[0 … 15] are neighbours in one matrix of bytes.
template <typename At> inline bool are_neighbours(At&& column) {
#ifdef __SSE2__
    for (std::size_t j = 0; j < kSide; ++j)
        if (column(j).width != 1 || column(j).stride != column(0).stride || column(j).data != column(0).data + j) return false;
    return true;
#else
    (void)column;
    return false;
#endif
}

// Rows [begin, begin + n) of 16 neighbouring byte columns, column c to `to + c * apart`: squares of 16 × 16 are transposed
// in registers, n is a multiple of 16.
inline void read_square(const Column& first, std::size_t begin, std::size_t n, std::uint8_t* to, std::size_t apart) {
#ifdef __SSE2__
    for (std::size_t r = 0; r < n; r += kSide) {
        __m128i a[kSide], b[kSide];
        for (std::size_t k = 0; k < kSide; ++k) a[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first.at(begin + r + k)));
        for (int round = 0; round < 4; ++round) {  // four perfect shuffles of bytes are a transposition
            for (std::size_t k = 0; k < kSide / 2; ++k) {
                b[2 * k] = _mm_unpacklo_epi8(a[k], a[k + 8]);
                b[2 * k + 1] = _mm_unpackhi_epi8(a[k], a[k + 8]);
            }
            for (std::size_t k = 0; k < kSide; ++k) a[k] = b[k];
        }
        for (std::size_t k = 0; k < kSide; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k * apart + r), a[k]);
    }
#else
    (void)first, (void)begin, (void)n, (void)to, (void)apart;
#endif
}

}  // namespace posteriori
