// Vectors of 32 bytes in the compiler's own notation: AVX2 where the file is compiled for it, two SSE registers elsewhere.
#pragma once
#include <cstdint>
#include <cstring>

namespace posteriori {

typedef std::uint8_t Bytes __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));
typedef std::int64_t Longs __attribute__((vector_size(32)));
typedef float Floats4 __attribute__((vector_size(16)));

inline Bytes load_bytes(const void* p) {
    Bytes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline Bytes all_bytes(std::uint8_t b) { return Bytes{} + b; }
inline Bytes max_bytes(Bytes a, Bytes b) { return a > b ? a : b; }

inline Doubles load4(const double* p) {
    Doubles v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline Doubles load4(const float* p) {
    Floats4 v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Doubles);
}
inline void store4(double* p, Doubles v) { std::memcpy(p, &v, sizeof v); }
inline Doubles all4(double x) { return Doubles{x, x, x, x}; }

}  // namespace posteriori
