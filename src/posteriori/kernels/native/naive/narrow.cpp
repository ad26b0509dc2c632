// Numbers -> codes of one byte.
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t SHARE = 1u << 16;  // numbers of a task

// Floats are cut to whole numbers, so that all between −1 and 256 have one; others, and what is no number, become 0 and are told.
template <typename T> bool narrow_some(const T* __restrict x, std::size_t n, std::uint8_t* __restrict out) {
    typedef std::int32_t Ints __attribute__((vector_size(16)));
    typedef std::uint8_t Four __attribute__((vector_size(4)));
    std::size_t i = 0;
    Longs sound = ~Longs{};
    for (; i + 4 <= n; i += 4) {
        const Doubles v = load4(x + i);
        const Longs fits = (v > all4(-1.0)) & (v < all4(256.0));
        sound &= fits;
        const Doubles kept = reinterpret_cast<Doubles>(reinterpret_cast<Longs>(v) & fits);
        const Four four = __builtin_convertvector(__builtin_convertvector(kept, Ints), Four);
        std::memcpy(out + i, &four, sizeof four);
    }
    bool all = sound[0] & sound[1] & sound[2] & sound[3];
    for (; i < n; ++i) {
        const bool fits = x[i] > T(-1) && x[i] < T(256);
        all = all && fits;
        out[i] = static_cast<std::uint8_t>(fits ? x[i] : T(0));
    }
    return all;
}

template <typename T> bool narrow_whole(const T* __restrict x, std::size_t n, std::uint8_t* __restrict out) {
    std::make_unsigned_t<T> high = 0;
    for (std::size_t i = 0; i < n; ++i) {
        high |= static_cast<std::make_unsigned_t<T>>(x[i]);
        out[i] = static_cast<std::uint8_t>(x[i]);
    }
    return high < 256;
}

}  // namespace

template <typename T> bool narrow(const T* x, std::size_t n, std::uint8_t* out, int threads) {
    std::atomic<bool> all{true};
    parallel_for((n + SHARE - 1) / SHARE, threads, [&](std::size_t t) {
        const std::size_t begin = t * SHARE, count = std::min(SHARE, n - begin);
        bool sound = all;  // the first that does not fit ends it
        if constexpr (std::is_integral_v<T>) sound = sound && narrow_whole(x + begin, count, out + begin);
        else sound = sound && narrow_some(x + begin, count, out + begin);
        if (!sound) all = false;
    });
    return all;
}

template bool narrow<double>(const double*, std::size_t, std::uint8_t*, int);
template bool narrow<float>(const float*, std::size_t, std::uint8_t*, int);
template bool narrow<std::int64_t>(const std::int64_t*, std::size_t, std::uint8_t*, int);
template bool narrow<std::int32_t>(const std::int32_t*, std::size_t, std::uint8_t*, int);

}  // namespace posteriori
