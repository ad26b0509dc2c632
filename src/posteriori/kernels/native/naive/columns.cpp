// Reading columns of codes: the one layout that has a path of its own, and range checks.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "naive.hpp"

namespace posteriori {

Cells::Cells(std::vector<Column> given, const std::int64_t* offsets_, std::size_t n_)
    : columns(std::move(given)), offsets(offsets_), n(n_), row_major(!columns.empty()) {
    for (std::size_t j = 0; j < columns.size() && row_major; ++j) {
        const Column &c = columns[j], &first = columns[0];
        row_major = c.width == first.width && c.stride == first.stride &&
                    c.data == first.data + static_cast<std::ptrdiff_t>(j) * first.width;
    }
}

template <typename C>  // the greatest class
static std::uint32_t read(const Column& y, std::size_t begin, std::size_t count, std::uint32_t* out) {
    const unsigned char* p = y.at(begin);
    if (y.stride == sizeof(C))
        for (std::size_t r = 0; r < count; ++r) out[r] = read_code<C>(p + r * sizeof(C));
    else if (y.stride == 0)
        std::fill_n(out, count, read_code<C>(p));
    else
        for (std::size_t r = 0; r < count; ++r, p += y.stride) out[r] = read_code<C>(p);
    return static_cast<std::uint32_t>(greatest<C>(y, begin, y.stride ? count : 1));
}

void bad_code(std::size_t j, std::uint64_t code, std::size_t size) {
    throw std::invalid_argument("column " + std::to_string(j) + " holds code " + std::to_string(code) +
                                ", but its table has " + std::to_string(size) + " values");
}

void read_classes(const Column& y, std::size_t begin, std::size_t count, std::size_t K, std::uint32_t* out) {
    if (!count) return;
    const std::uint32_t top = y.width == 1   ? read<std::uint8_t>(y, begin, count, out)
                              : y.width == 2 ? read<std::uint16_t>(y, begin, count, out)
                                             : read<std::uint32_t>(y, begin, count, out);
    if (top >= K)
        throw std::invalid_argument("y holds class code " + std::to_string(top) + ", but there are " +
                                    std::to_string(K) + " classes");
}

}  // namespace posteriori
