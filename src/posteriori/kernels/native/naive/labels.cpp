// Integer labels -> codes in one read, two where the range is not known.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "naive.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {
constexpr std::size_t SHARE = 1u << 16;  // labels of a task
std::size_t shares(std::size_t n) { return (n + SHARE - 1) / SHARE; }

// Codes are distances from `low`; whether one is not below the span.
template <typename T, typename C>
bool outside(const T* __restrict y, std::size_t n, std::ptrdiff_t stride, std::uint64_t low, std::size_t span, C* __restrict out) {
    std::uint64_t high = 0;  // bits that a code has no room for
    C top = 0;
    auto code = [low](T label) { return static_cast<std::uint64_t>(label) - low; };
    if (stride == 1)
        for (std::size_t r = 0; r < n; ++r) high |= code(y[r]) >> 8 * sizeof(C), out[r] = static_cast<C>(code(y[r]));
    else
        for (std::size_t r = 0; r < n; ++r, y += stride) high |= code(*y) >> 8 * sizeof(C), out[r] = static_cast<C>(code(*y));
    for (std::size_t r = 0; r < n; ++r) top = out[r] > top ? out[r] : top;
    return high || top >= span;
}

}  // namespace

template <typename T>
bool label_range(const T* y, std::size_t n, std::ptrdiff_t stride, std::uint64_t most, T* lo, T* hi, int threads) {
    std::vector<T> least(shares(n), y[0]), greatest(shares(n), y[0]);
    auto apart = [&](T low, T high) { return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) >= most; };
    parallel_for(shares(n), threads, [&](std::size_t t) {
        T low = y[0], high = y[0];
        for (std::size_t begin = t * SHARE; begin < std::min(n, (t + 1) * SHARE); begin += 8192) {  // found out early
            const std::size_t end = std::min(begin + 8192, n);
            if (stride == 1) {
                for (std::size_t r = begin; r < end; ++r) {
                    low = y[r] < low ? y[r] : low;
                    high = y[r] > high ? y[r] : high;
                }
            } else {
                for (std::size_t r = begin; r < end; ++r) {
                    const T label = y[static_cast<std::ptrdiff_t>(r) * stride];
                    low = label < low ? label : low;
                    high = label > high ? label : high;
                }
            }
            if (apart(low, high)) break;
        }
        least[t] = low;
        greatest[t] = high;
    });
    *lo = *std::min_element(least.begin(), least.end());
    *hi = *std::max_element(greatest.begin(), greatest.end());
    return !apart(*lo, *hi);
}

template <typename T, typename C>
std::vector<T> label_codes(const T* y, std::size_t n, std::ptrdiff_t stride, T lo, std::size_t span, C* codes, int threads) {
    std::vector<std::vector<unsigned char>> present(shares(n));
    parallel_for(shares(n), threads, [&](std::size_t t) {
        const std::size_t begin = t * SHARE, count = std::min(n - begin, SHARE);
        C* out = codes + begin;
        const T* in = y + static_cast<std::ptrdiff_t>(begin) * stride;
        if (outside(in, count, stride, static_cast<std::uint64_t>(lo), span, out))
            throw std::out_of_range("a label lies outside the range given");
        present[t].assign(span, 0);
        unsigned char* __restrict own = present[t].data();
        if (sizeof(C) == 1 && span <= 16)  // each is met soon, or is not there
            for (std::size_t v = 0; v < span; ++v) own[v] = std::memchr(out, static_cast<int>(v), count) != nullptr;
        else
            for (std::size_t r = 0; r < count; ++r) own[out[r]] = 1;
    });
    std::vector<T> classes;
    std::vector<C> place(span, 0);
    for (std::size_t v = 0; v < span; ++v) {
        if (std::none_of(present.begin(), present.end(), [&](const auto& p) { return p[v]; })) continue;
        place[v] = static_cast<C>(classes.size());
        classes.push_back(static_cast<T>(static_cast<std::uint64_t>(lo) + v));
    }
    if (classes.size() < span)
        for (std::size_t r = 0; r < n; ++r) codes[r] = place[codes[r]];
    return classes;
}

#define LABELS(T)                                                                                             \
    template bool label_range<T>(const T*, std::size_t, std::ptrdiff_t, std::uint64_t, T*, T*, int);             \
    template std::vector<T> label_codes<T, std::uint8_t>(const T*, std::size_t, std::ptrdiff_t, T,            \
                                                         std::size_t, std::uint8_t*, int);                     \
    template std::vector<T> label_codes<T, std::uint16_t>(const T*, std::size_t, std::ptrdiff_t, T,           \
                                                          std::size_t, std::uint16_t*, int);
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
