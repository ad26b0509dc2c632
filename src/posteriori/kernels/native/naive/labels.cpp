// Integer labels -> codes in one read, two where the range is not known.
#include <algorithm>
#include <stdexcept>

#include "naive.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {
constexpr std::size_t SHARE = 1u << 16;  // labels of a task
std::size_t shares(std::size_t n) { return (n + SHARE - 1) / SHARE; }
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
        const T* __restrict in = y + static_cast<std::ptrdiff_t>(begin) * stride;
        C* __restrict out = codes + begin;
        const auto low = static_cast<std::uint64_t>(lo);
        const bool few = span <= 64;
        std::uint64_t high = 0, met = 0;  // bits beyond those of a code; which of the first 64 codes there are
        C top = 0;
        auto code = [&](std::size_t r, T label) {
            const std::uint64_t gap = static_cast<std::uint64_t>(label) - low;
            const C own = static_cast<C>(gap);
            high |= gap >> 8 * sizeof(C);
            met |= std::uint64_t{1} << (gap & 63);
            top = own > top ? own : top;
            out[r] = own;
        };
        if (stride == 1)
            for (std::size_t r = 0; r < count; ++r) code(r, in[r]);
        else
            for (std::size_t r = 0; r < count; ++r) code(r, in[static_cast<std::ptrdiff_t>(r) * stride]);
        if (high || top >= span) throw std::out_of_range("a label lies outside the range given");
        present[t].assign(span, 0);
        unsigned char* __restrict own = present[t].data();
        for (std::size_t v = 0; few && v < span; ++v) own[v] = met >> v & 1;
        for (std::size_t r = 0; !few && r < count; ++r) own[out[r]] = 1;
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
