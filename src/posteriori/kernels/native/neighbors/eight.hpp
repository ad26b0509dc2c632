// Eight numbers side by side, float or double: intrinsics where the machine has AVX2, plain loops elsewhere.
#pragma once
#include <cmath>
#include <cstdint>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace posteriori::eight {

constexpr int W = 8;

#ifdef __AVX2__

template <typename T> struct Eight;
template <> struct Eight<float> {
    __m256 v;
};
template <> struct Eight<double> {
    __m256d a, b;
};

inline Eight<float> load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline Eight<double> load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
inline void store(float* p, Eight<float> x) { _mm256_storeu_ps(p, x.v); }
inline void store(double* p, Eight<double> x) { _mm256_storeu_pd(p, x.a), _mm256_storeu_pd(p + 4, x.b); }
inline Eight<float> splat(float x) { return {_mm256_set1_ps(x)}; }
inline Eight<double> splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
inline Eight<float> operator-(Eight<float> x, Eight<float> y) { return {_mm256_sub_ps(x.v, y.v)}; }
inline Eight<double> operator-(Eight<double> x, Eight<double> y) {
    return {_mm256_sub_pd(x.a, y.a), _mm256_sub_pd(x.b, y.b)};
}
inline Eight<float> operator+(Eight<float> x, Eight<float> y) { return {_mm256_add_ps(x.v, y.v)}; }
inline Eight<double> operator+(Eight<double> x, Eight<double> y) {
    return {_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)};
}
inline Eight<float> max(Eight<float> x, Eight<float> y) { return {_mm256_max_ps(x.v, y.v)}; }
inline Eight<double> max(Eight<double> x, Eight<double> y) {
    return {_mm256_max_pd(x.a, y.a), _mm256_max_pd(x.b, y.b)};
}
inline Eight<float> abs(Eight<float> x) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x.v)}; }
inline Eight<double> abs(Eight<double> x) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return {_mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b)};
}
// x·y + z, rounded once
inline Eight<float> madd(Eight<float> x, Eight<float> y, Eight<float> z) { return {_mm256_fmadd_ps(x.v, y.v, z.v)}; }
inline Eight<double> madd(Eight<double> x, Eight<double> y, Eight<double> z) {
    return {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)};
}
// bit l is set where lane l of x is at most that of y
inline unsigned at_most(Eight<float> x, Eight<float> y) {
    return _mm256_movemask_ps(_mm256_cmp_ps(x.v, y.v, _CMP_LE_OQ));
}
inline unsigned at_most(Eight<double> x, Eight<double> y) {
    return _mm256_movemask_pd(_mm256_cmp_pd(x.a, y.a, _CMP_LE_OQ)) |
           _mm256_movemask_pd(_mm256_cmp_pd(x.b, y.b, _CMP_LE_OQ)) << 4;
}
// the scalar twin of madd: a distance does not depend on which of the two computed it
inline double madd(double x, double y, double z) { return std::fma(x, y, z); }
inline float madd(float x, float y, float z) { return std::fma(x, y, z); }

#else

template <typename T> struct Eight {
    T v[W];
};

template <typename T> inline Eight<T> load(const T* p) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = p[l];
    return r;
}
template <typename T> inline void store(T* p, const Eight<T>& x) {
    for (int l = 0; l < W; ++l) p[l] = x.v[l];
}
template <typename T> inline Eight<T> splat(T x) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = x;
    return r;
}
template <typename T> inline Eight<T> operator-(const Eight<T>& x, const Eight<T>& y) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = x.v[l] - y.v[l];
    return r;
}
template <typename T> inline Eight<T> operator+(const Eight<T>& x, const Eight<T>& y) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = x.v[l] + y.v[l];
    return r;
}
template <typename T> inline Eight<T> max(const Eight<T>& x, const Eight<T>& y) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = x.v[l] > y.v[l] ? x.v[l] : y.v[l];
    return r;
}
template <typename T> inline Eight<T> abs(const Eight<T>& x) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = std::fabs(x.v[l]);
    return r;
}
template <typename T> inline T madd(T x, T y, T z) { return x * y + z; }
template <typename T> inline Eight<T> madd(const Eight<T>& x, const Eight<T>& y, const Eight<T>& z) {
    Eight<T> r;
    for (int l = 0; l < W; ++l) r.v[l] = madd(x.v[l], y.v[l], z.v[l]);
    return r;
}
template <typename T> inline unsigned at_most(const Eight<T>& x, const Eight<T>& y) {
    unsigned mask = 0;
    for (int l = 0; l < W; ++l) mask |= unsigned(x.v[l] <= y.v[l]) << l;
    return mask;
}

#endif

}  // namespace posteriori::eight
