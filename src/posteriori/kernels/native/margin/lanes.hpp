// Vectors as wide as a register, by the compiler's vector extension: one source for every instruction set.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace posteriori {

#ifdef __AVX2__
constexpr std::size_t REGISTER = 32;
#else
constexpr std::size_t REGISTER = 16;
#endif

template <typename T> struct Lanes;
template <> struct Lanes<float> {
    typedef float V __attribute__((vector_size(REGISTER)));
    typedef std::int32_t I __attribute__((vector_size(REGISTER)));
    static constexpr float ROUND = 12582912.0f;           // 1.5 · 2^23: adding it rounds to an integer in the low bits
    static constexpr float LN2_HIGH = 0.693359375f;       // ln 2 in two parts, the first short enough that n·LN2_HIGH is exact
    static constexpr float LN2_LOW = -2.12194440e-4f;
    static constexpr float LOWEST = -87.0f;
    static constexpr float HIGHEST = 88.0f;
    static constexpr int FRACTION = 23;
};
template <> struct Lanes<double> {
    typedef double V __attribute__((vector_size(REGISTER)));
    typedef std::int64_t I __attribute__((vector_size(REGISTER)));
    static constexpr double ROUND = 6755399441055744.0;   // 1.5 · 2^52
    static constexpr double LN2_HIGH = 6.93145751953125e-1;
    static constexpr double LN2_LOW = 1.42860682030941723212e-6;
    static constexpr double LOWEST = -708.0;
    static constexpr double HIGHEST = 709.0;
    static constexpr int FRACTION = 52;
};

template <typename T> using Vec = typename Lanes<T>::V;
template <typename T> using Int = typename Lanes<T>::I;
template <typename T> constexpr std::size_t WIDTH = REGISTER / sizeof(T);
#define POSTERIORI_INLINE inline __attribute__((always_inline))

template <typename T> POSTERIORI_INLINE Vec<T> load(const T* p) {
    Vec<T> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <typename T> POSTERIORI_INLINE void store(T* p, Vec<T> v) { std::memcpy(p, &v, sizeof v); }
template <typename T> POSTERIORI_INLINE Vec<T> spread(T x) { return x - Vec<T>{}; }
template <typename T> POSTERIORI_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
#ifdef __AVX2__  // the compiler makes two instructions of the line below
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_max_ps((__m256)a, (__m256)b);
    else return (Vec<T>)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return a > b ? a : b;
#endif
}

// exp(x), within 2 units in the last place; exp(0) is 1 exactly; 0 below LOWEST.
// `negative` promises x ≤ 0. x = n ln 2 + r with |r| ≤ ½ ln 2; a polynomial gives exp(r), and n goes into the exponent bits.
template <typename T, bool negative = false> POSTERIORI_INLINE Vec<T> exp_lanes(Vec<T> x) {
    using L = Lanes<T>;
    const Vec<T> low = spread<T>(L::LOWEST);
    const Vec<T> kept = larger<T>(negative ? x : -larger<T>(-x, spread<T>(-L::HIGHEST)), low);
    const Vec<T> shifted = kept * T(1.44269504088896340736) + L::ROUND;
    const Vec<T> n = shifted - L::ROUND;
    const Vec<T> r = (kept - n * L::LN2_HIGH) - n * L::LN2_LOW;
    Vec<T> p;
    if constexpr (sizeof(T) == 4) {
        p = spread<T>(1.9875691500e-4f);
        for (T c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f}) p = p * r + c;
    } else {  // the Taylor series: 1/13! · (½ ln 2)^14 is below the last place
        p = spread<T>(1.0 / 6227020800.0);
        for (T c : {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                    1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5})
            p = p * r + c;
    }
    p = p * (r * r) + r + T(1);
    Int<T> bits, scale;
    std::memcpy(&scale, &shifted, sizeof scale);
    std::memcpy(&bits, &p, sizeof bits);
    bits += scale << L::FRACTION;
    Vec<T> out;
    std::memcpy(&out, &bits, sizeof out);
    return x < low ? Vec<T>{} : out;
}

template <typename T> POSTERIORI_INLINE Vec<T> sqrt_lanes(Vec<T> x) {
#ifdef __AVX2__
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_sqrt_ps((__m256)x);
    else return (Vec<T>)_mm256_sqrt_pd((__m256d)x);
#else
    for (std::size_t i = 0; i < WIDTH<T>; ++i) x[i] = std::sqrt(x[i]);
    return x;
#endif
}

}  // namespace posteriori
