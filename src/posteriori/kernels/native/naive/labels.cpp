// Integer labels -> codes in two reads.
#include <stdexcept>

#include "naive.hpp"

namespace posteriori {

template <typename T>
bool label_range(const T* y, std::size_t n, std::ptrdiff_t stride, std::uint64_t most, T* lo, T* hi) {
    T least = y[0], greatest = y[0];
    for (std::size_t begin = 0; begin < n; begin += 8192) {  // labels far apart are found out early
        const std::size_t end = begin + 8192 < n ? begin + 8192 : n;
        if (stride == 1) {
            for (std::size_t r = begin; r < end; ++r) {
                least = y[r] < least ? y[r] : least;
                greatest = y[r] > greatest ? y[r] : greatest;
            }
        } else {
            for (std::size_t r = begin; r < end; ++r) {
                const T label = y[static_cast<std::ptrdiff_t>(r) * stride];
                least = label < least ? label : least;
                greatest = label > greatest ? label : greatest;
            }
        }
        if (static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least) >= most) return false;
    }
    *lo = least;
    *hi = greatest;
    return true;
}

template <typename T, typename C>
std::vector<T> label_codes(const T* y, std::size_t n, std::ptrdiff_t stride, T lo, std::size_t span, C* codes) {
    std::vector<unsigned char> present(span, 0);
    for (std::size_t r = 0; r < n; ++r) {
        const auto gap = static_cast<std::uint64_t>(y[static_cast<std::ptrdiff_t>(r) * stride]) -
                         static_cast<std::uint64_t>(lo);
        if (gap >= span) throw std::out_of_range("a label lies outside the range given");
        present[gap] = 1;
        codes[r] = static_cast<C>(gap);
    }
    std::vector<T> classes;
    std::vector<C> place(span, 0);
    for (std::size_t v = 0; v < span; ++v) {
        if (!present[v]) continue;
        place[v] = static_cast<C>(classes.size());
        classes.push_back(static_cast<T>(static_cast<std::uint64_t>(lo) + v));
    }
    if (classes.size() < span)
        for (std::size_t r = 0; r < n; ++r) codes[r] = place[codes[r]];
    return classes;
}

#define LABELS(T)                                                                                             \
    template bool label_range<T>(const T*, std::size_t, std::ptrdiff_t, std::uint64_t, T*, T*);               \
    template std::vector<T> label_codes<T, std::uint8_t>(const T*, std::size_t, std::ptrdiff_t, T,            \
                                                         std::size_t, std::uint8_t*);                         \
    template std::vector<T> label_codes<T, std::uint16_t>(const T*, std::size_t, std::ptrdiff_t, T,           \
                                                          std::size_t, std::uint16_t*);
LABELS(std::int8_t)
LABELS(std::int16_t)
LABELS(std::int32_t)
LABELS(std::int64_t)
LABELS(std::uint8_t)
LABELS(std::uint16_t)
LABELS(std::uint32_t)
LABELS(std::uint64_t)
#undef LABELS

}  // namespace posteriori
