// Blocks of coded columns, of any width and stride, read into contiguous buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

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

}  // namespace posteriori
