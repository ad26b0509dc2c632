// Reading coded columns of any width and stride into contiguous buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "pairs.hpp"

namespace posteriori {

template <typename To, typename From>
inline std::uint32_t copy_codes(const From* from, std::ptrdiff_t stride, std::size_t n, To* to) {
    std::uint32_t most = 0;
    if (stride == 1) {
        for (std::size_t r = 0; r < n; ++r) {
            const std::uint32_t code = from[r];
            most = code > most ? code : most;
            to[r] = static_cast<To>(code);
        }
    } else {
        for (std::size_t r = 0; r < n; ++r) {
            const std::uint32_t code = from[static_cast<std::ptrdiff_t>(r) * stride];
            most = code > most ? code : most;
            to[r] = static_cast<To>(code);
        }
    }
    return most;
}

// Rows [begin, begin + n) of a column and their largest code; throws where that is above `limit`.
template <typename To>
inline std::uint32_t read_codes(const CodeColumn& column, std::size_t begin, std::size_t n, std::uint32_t limit, const char* what,
                       std::size_t j, To* to) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(begin) * column.stride;
    std::uint32_t most = 0;
    if (column.width == 1)
        most = copy_codes(static_cast<const std::uint8_t*>(column.data) + at, column.stride, n, to);
    else if (column.width == 2)
        most = copy_codes(static_cast<const std::uint16_t*>(column.data) + at, column.stride, n, to);
    else
        most = copy_codes(static_cast<const std::uint32_t*>(column.data) + at, column.stride, n, to);
    if (most > limit)
        throw std::out_of_range(std::string(what) + " " + std::to_string(j) + " has the code " + std::to_string(most) +
                                " in rows " + std::to_string(begin) + " to " + std::to_string(begin + n) +
                                "; the largest allowed is " + std::to_string(limit));
    return most;
}

}  // namespace posteriori
