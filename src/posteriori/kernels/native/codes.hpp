// Columns of codes of any width and stride, read with range checks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace posteriori {

// Unsigned codes of 1, 2, 4 or 8 bytes, `stride` bytes apart.
struct Column {
    const unsigned char* data;
    std::ptrdiff_t stride;
    int width;
    const unsigned char* at(std::size_t r) const { return data + static_cast<std::ptrdiff_t>(r) * stride; }
};

template <typename C> inline C read_code(const unsigned char* p) {
    C code;
    std::memcpy(&code, p, sizeof code);
    return code;
}

template <typename C> std::uint64_t greatest(const Column& c, std::size_t begin, std::size_t count) {
    const unsigned char* p = c.at(begin);
    C top = 0;
    if (c.stride == sizeof(C)) {
        for (std::size_t r = 0; r < count; ++r) {
            const C code = read_code<C>(p + r * sizeof(C));
            top = code > top ? code : top;
        }
    } else {
        for (std::size_t r = 0; r < count; ++r, p += c.stride) {
            const C code = read_code<C>(p);
            top = code > top ? code : top;
        }
    }
    return top;
}

// A look at every line of a block of rows of bytes, one after the other, so that the processor reads ahead what comes next;
// how the block is then gone through it could not foresee.
inline void read_in_order(const unsigned char* base, std::ptrdiff_t stride, std::size_t count, std::size_t d) {
    if (d < 32) return;
    for (std::size_t r = 0; r < count; ++r, base += stride)
        for (std::size_t j = 0; j < d; j += 64) static_cast<void>(*static_cast<const volatile unsigned char*>(base + j));
}

[[noreturn]] void bad_code(std::size_t j, std::uint64_t code, std::size_t size);

// Class codes of a block of rows as 32-bit numbers, checked against K.
void read_classes(const Column& y, std::size_t begin, std::size_t count, std::size_t K, std::uint32_t* out);

}  // namespace posteriori
