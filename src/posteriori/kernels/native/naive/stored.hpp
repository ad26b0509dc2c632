// The stored cells of CSR rows, a block of rows at a time: indices that are checked, values that are doubles.
#pragma once
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "naive.hpp"
#include "vec.hpp"

namespace posteriori {

template <typename I> void check_shape(const Sparse<I>& X) {
    for (std::size_t r = 0; r < X.n; ++r)
        if (X.indptr[r] > X.indptr[r + 1] || X.indptr[r] < 0)
            throw std::invalid_argument("indptr of the CSR matrix falls at row " + std::to_string(r));
    if (static_cast<std::size_t>(X.indptr[X.n]) > X.stored)
        throw std::invalid_argument("indptr of the CSR matrix reaches beyond its " + std::to_string(X.stored) +
                                    " stored cells");
}

// Four cells at a time: x − x is 0 for a finite x and NaN for any other.
inline int look(const double* x, std::size_t count) {
    Longs odd{}, negative{};
    auto see = [&](Doubles four) {
        odd |= (four - four) != Doubles{};
        negative |= four < Doubles{};
    };
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) see(load4(x + i));
    for (; i < count; ++i) see(all4(x[i]));
    int state = SOUND;
    for (int lane = 0; lane < 4; ++lane) state |= (odd[lane] ? NOT_FINITE : SOUND) | (negative[lane] ? NEGATIVE : SOUND);
    return state;
}

template <typename I> class Block {
  public:
    explicit Block(const Sparse<I>& from) : X(from), plain(X.type == Number::f64 && std::isnan(X.threshold)) {}

    // Reads rows from `first` on until there are enough cells, at least one row and none from `last` on; says where it stopped.
    std::size_t read(std::size_t first, std::size_t last) {
        constexpr std::size_t CELLS = 16384;  // one long stream from memory; what follows finds them in the second cache
        begin = static_cast<std::size_t>(X.indptr[first]);
        std::size_t row = first + 1;
        while (row < last && static_cast<std::size_t>(X.indptr[row + 1]) - begin <= CELLS) ++row;
        end = static_cast<std::size_t>(X.indptr[row]);
        check_indices();
        const std::size_t count = end - begin;
        if (plain) {
            x = static_cast<const double*>(X.data) + begin;
            state |= look(x, count);
            return row;
        }
        if (buffer.size() < count) buffer.resize(count, 1.0);
        x = buffer.data();
        if (X.type != Number::one) read_values(buffer.data(), count);
        return row;
    }

    const I* index(std::size_t cell) const { return X.indices + cell; }
    const double* value(std::size_t cell) const { return x + (cell - begin); }
    std::size_t begin = 0, end = 0;
    int state = SOUND;

  private:
    void check_indices() const {
        using U = std::make_unsigned_t<I>;
        const I* indices = X.indices;
        U top = 0;
        for (std::size_t i = begin; i < end; ++i) top = std::max(top, static_cast<U>(indices[i]));
        if (begin == end || top < X.d) return;
        std::size_t i = begin;
        while (static_cast<U>(indices[i]) < X.d) ++i;
        const auto row = std::upper_bound(X.indptr, X.indptr + X.n + 1, static_cast<I>(i)) - X.indptr - 1;
        throw std::invalid_argument("row " + std::to_string(row) + " of the CSR matrix has index " +
                                    std::to_string(indices[i]) + ", but there are " + std::to_string(X.d) + " columns");
    }

    template <typename V> void widen(double* out, std::size_t count) const {
        const V* from = static_cast<const V*>(X.data) + begin;
        for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(from[i]);
    }

    void read_values(double* out, std::size_t count) {
        switch (X.type) {
            case Number::f32: widen<float>(out, count); break;
            case Number::i64: widen<std::int64_t>(out, count); break;
            case Number::i32: widen<std::int32_t>(out, count); break;
            case Number::u8: widen<std::uint8_t>(out, count); break;
            default: widen<double>(out, count);
        }
        state |= look(out, count);
        const double threshold = X.threshold;
        if (std::isnan(threshold)) return;
        for (std::size_t i = 0; i < count; ++i) out[i] = out[i] > threshold ? 1.0 : 0.0;
    }

    const Sparse<I>& X;
    const bool plain;
    const double* x = nullptr;
    std::vector<double> buffer;
};

}  // namespace posteriori
