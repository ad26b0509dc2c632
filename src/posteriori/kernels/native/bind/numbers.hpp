// Codes, weights and matrices of numbers as the bindings of naive Bayes take them; dtypes are never converted.
#pragma once
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "bind.hpp"
#include "naive/naive.hpp"

using namespace posteriori;
using Any1 = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Any2 = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Weights = std::optional<InC<double, 1>>;

inline int code_width(nb::dlpack::dtype type) {
    if (type == nb::dtype<std::uint8_t>()) return 1;
    if (type == nb::dtype<std::uint16_t>()) return 2;
    // signed codes of 4 and 8 bytes are read as unsigned: a negative one is then too large for any table, and refused
    if (type == nb::dtype<std::uint32_t>() || type == nb::dtype<std::int32_t>()) return 4;
    if (type == nb::dtype<std::uint64_t>() || type == nb::dtype<std::int64_t>()) return 8;
    throw nb::type_error("codes are uint8, uint16, (u)int32 or (u)int64");
}

inline Column column_of(const Any1& a, int widest = 8) {
    const int width = code_width(a.dtype());
    need(width <= widest, "class codes are uint8, uint16 or uint32");
    return {static_cast<const unsigned char*>(a.data()), a.shape(0) == 1 ? width : a.stride(0) * width, width};
}

// Class codes of a width that a kernel reads; of another, copies.
inline Any1 class_codes(nb::handle y) {
    Any1 codes;
    if (nb::try_cast(y, codes, false) && codes.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt) && codes.dtype().bits <= 32)
        return codes;
    if (!nb::try_cast(y.attr("astype")("uint32"), codes, false)) throw nb::next_overload();
    return codes;
}

inline const double* weights_of(const Weights& w, std::size_t n) {
    need(!w || w->shape(0) == n, "weights differ from y in length");
    return w ? w->data() : nullptr;
}

// None; one weight a row; or (n, K) shares: a row counts w[r, y] in every class y, and its own class is not asked.
struct Shares {
    const double* weights = nullptr;
    bool shared = false;
    Shares(const std::optional<AnyC>& w, std::size_t n, std::size_t K) {
        if (!w) return;
        weights = w->data(), shared = w->ndim() == 2;
        need(w->ndim() == (shared ? 2 : 1) && w->shape(0) == n, "weights differ from y in length");
        need(!shared || w->shape(1) == K, "shares are not (n, K)");
    }
};

// A matrix of numbers as kernels read it, in any order of memory; of what they do not read, float64 copies.
inline Any2 readable(nb::handle X) {
    constexpr auto real = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Complex);
    Any2 numbers;
    if (nb::try_cast(X, numbers, false) && numbers.dtype().code != real && numbers.dtype().bits <= 64 &&
        (numbers.dtype().code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) || numbers.dtype().bits >= 32))
        return numbers;
    if (!nb::try_cast(X.attr("astype")("float64"), numbers, false)) throw nb::next_overload();
    return numbers;
}

// Numbers of any type that NumPy has for them: float as float, all others as double.
template <typename T> Matrix<T> matrix_of(const Any2& X, void (*turn)(const Matrix<T>&, std::size_t, std::size_t, T*)) {
    const std::size_t n = X.shape(0), d = X.shape(1);
    return {X.data(), n, d, n <= 1 ? 0 : static_cast<std::ptrdiff_t>(X.stride(0)),
            d <= 1 ? 1 : static_cast<std::ptrdiff_t>(X.stride(1)), turn, X.itemsize()};
}

inline bool rows_lie_side_by_side(const Any2& X) { return X.shape(1) <= 1 || X.stride(1) == 1; }

inline Matrix<double> doubles_of(const Any2& X) {
    const auto type = X.dtype();
    if (type == nb::dtype<double>())
        return matrix_of<double>(X, rows_lie_side_by_side(X) ? nullptr : turn_rows<double, double>);
    if (type == nb::dtype<std::uint8_t>() || type == nb::dtype<bool>()) return matrix_of<double>(X, turn_rows<std::uint8_t, double>);
    if (type == nb::dtype<std::int8_t>()) return matrix_of<double>(X, turn_rows<std::int8_t, double>);
    if (type == nb::dtype<std::uint16_t>()) return matrix_of<double>(X, turn_rows<std::uint16_t, double>);
    if (type == nb::dtype<std::int16_t>()) return matrix_of<double>(X, turn_rows<std::int16_t, double>);
    if (type == nb::dtype<std::uint32_t>()) return matrix_of<double>(X, turn_rows<std::uint32_t, double>);
    if (type == nb::dtype<std::int32_t>()) return matrix_of<double>(X, turn_rows<std::int32_t, double>);
    if (type == nb::dtype<std::uint64_t>()) return matrix_of<double>(X, turn_rows<std::uint64_t, double>);
    if (type == nb::dtype<std::int64_t>()) return matrix_of<double>(X, turn_rows<std::int64_t, double>);
    if (type == nb::dtype<float>()) return matrix_of<double>(X, turn_rows<float, double>);
    throw nb::type_error("X holds no numbers that the kernels read");
}

inline Matrix<float> floats_of(const Any2& X) {
    return matrix_of<float>(X, rows_lie_side_by_side(X) ? nullptr : turn_rows<float, float>);
}

// start is (K,) or (n, K), out (n, K).
inline Scores scores_of(const AnyC& start, double* out, std::size_t n, std::size_t K, bool posterior) {
    const bool one = start.ndim() == 1;
    need(one ? start.shape(0) == K : start.ndim() == 2 && start.shape(0) == n && start.shape(1) == K,
            "start is neither (K,) nor (n, K)");
    return {start.data(), one ? 0 : K, out, posterior};
}

// A table (rows, K), on large pages where it is large; NumPy asks for them from 4 MB on.
New<double> large_table(std::size_t rows, std::size_t K, bool zeros = false);

// Counts of so many columns by class that do not fit are refused.
void refuse_large(std::size_t columns, std::size_t K, int tables, const std::string& what = "columns");
