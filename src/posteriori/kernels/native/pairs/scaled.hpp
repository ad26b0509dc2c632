// Products of very many probabilities without underflow: L classes at a time, each a mantissa and an exponent of its own.
#pragma once
#include <cstdint>
#include <cstring>

namespace posteriori {

template <int L> struct Lanes {
    typedef double Real __attribute__((vector_size(L * 8)));
    typedef std::int64_t Int __attribute__((vector_size(L * 8)));

    static Real load(const double* p) {
        Real v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    static Int bits(Real v) {
        Int b;
        std::memcpy(&b, &v, sizeof b);
        return b;
    }
    static Real real(Int b) {
        Real v;
        std::memcpy(&v, &b, sizeof v);
        return v;
    }
    // 2^k for k ≤ 0, zero where it is below the normal numbers.
    static Real power(Int k) { return real(k > -1022 ? (k + 1023) << 52 : Int{}); }
};

// mantissa · 2^exponent in every lane, the mantissa in [1, 2) or zero.
template <int L> struct Scaled {
    using Real = typename Lanes<L>::Real;
    using Int = typename Lanes<L>::Int;
    Real mantissa = Real{};
    Int exponent = Int{} - (std::int64_t{1} << 40);  // zero: smaller than whatever is added to it

    // v · 2^exponent, brought to a mantissa; v is not negative. Subnormal lanes are lifted first.
    static Scaled of(Real v, Int exponent) {
        const Int tiny = v < 0x1p-1000;
        v = tiny ? v * 0x1p200 : v;
        exponent -= tiny & 200;
        const Int b = Lanes<L>::bits(v);
        const Int zero = v == 0.0;
        Scaled s;
        s.mantissa = zero ? Real{} : Lanes<L>::real((b & 0x000fffffffffffff) | 0x3ff0000000000000);
        s.exponent = zero ? Int{} - (std::int64_t{1} << 40) : exponent + (b >> 52) - 1023;
        return s;
    }
    void add(const Scaled& other) {
        const Int larger = other.exponent > exponent ? other.exponent : exponent;
        mantissa = mantissa * Lanes<L>::power(exponent - larger) + other.mantissa * Lanes<L>::power(other.exponent - larger);
        exponent = larger;
    }
};

}  // namespace posteriori
