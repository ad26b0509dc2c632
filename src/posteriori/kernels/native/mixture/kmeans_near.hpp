// The nearest centre by products ½‖c‖² − x·c in single precision, rows in lanes; where the two best differ by no more than
// rounding could have done, by differences in double precision. So labels are those of exact arithmetic, but for ties to the
// last digit of a double.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kmeans.hpp"
#include "margin/lanes.hpp"

namespace posteriori::kmeans {

template <typename T> POSTERIORI_INLINE Vec<double> four(const T* x) {
    Vec<double> v;
    for (std::size_t i = 0; i < WIDTH<double>; ++i) v[i] = double(x[i]);
    return v;
}

// ‖x − shift − c‖²
template <typename T> double apart(const T* x, const double* shift, const double* c, std::size_t d) {
    constexpr std::size_t W = WIDTH<double>;
    Vec<double> sum{};
    std::size_t j = 0;
    for (; j + W <= d; j += W) {
        const Vec<double> gap = four(x + j) - load<double>(shift + j) - load<double>(c + j);
        sum += gap * gap;
    }
    double total = 0.0;
    for (std::size_t i = 0; i < W; ++i) total += sum[i];
    for (; j < d; ++j) {
        const double gap = double(x[j]) - shift[j] - c[j];
        total += gap * gap;
    }
    return total;
}

// Centres as the products read them, four side by side; those added to fill the last four are infinitely far.
template <typename F> struct Packed {
    std::size_t tiles;
    std::vector<F> panel, half;  // (tiles, d, 4), (tiles, 4)
    double longest = 0.0;

    Packed(const Centres& c, std::size_t d, double unit)
        : tiles((c.K + 3) / 4), panel(tiles * d * 4), half(tiles * 4, std::numeric_limits<F>::infinity()) {
        for (std::size_t k = 0; k < c.K; ++k) {
            double norm2 = 0.0;
            for (std::size_t j = 0; j < d; ++j) {
                const F x = F(c.C[k * d + j] * unit);
                panel[(k / 4 * d + j) * 4 + k % 4] = x;
                norm2 += double(x) * x;
            }
            half[k] = F(norm2 / 2);
            longest = std::max(longest, std::sqrt(norm2));
        }
    }
};

// GROUP rows, in units, [column][row] with their lengths in the last line; rows r ≥ here are the last one again.
template <typename T, typename F, typename Row>
void fill_panel(const Rows<T>& rows, const Row& row_of, std::size_t here, F* __restrict panel) {
    constexpr std::size_t W = WIDTH<F>;
    const std::size_t d = rows.d;
    const double* __restrict shift = rows.shift;
    F line[64];
    for (std::size_t i = 0; i < GROUP; ++i) {
        const T* __restrict x = rows.X + row_of(std::min(i, here - 1)) * d;
        for (std::size_t j = 0; j < d; j += 64) {  // converted side by side first: what is scattered is not
            const std::size_t some = std::min<std::size_t>(64, d - j);
            for (std::size_t l = 0; l < some; ++l) line[l] = F((double(x[j + l]) - shift[j + l]) * rows.unit);
            for (std::size_t l = 0; l < some; ++l) panel[(j + l) * GROUP + i] = line[l];
        }
    }
    for (std::size_t v = 0; v < GROUP; v += W) {
        Vec<F> norm2{};
        for (std::size_t j = 0; j < d; ++j) {
            const Vec<F> x = load<F>(panel + j * GROUP + v);
            norm2 += x * x;
        }
        store<F>(panel + d * GROUP + v, sqrt_lanes<F>(norm2));
    }
}

template <typename F> POSTERIORI_INLINE Vec<F> smaller(Vec<F> a, Vec<F> b) {
#ifdef __AVX2__
    if constexpr (sizeof(F) == 4) return (Vec<F>)_mm256_min_ps((__m256)a, (__m256)b);
    else return (Vec<F>)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return a < b ? a : b;
#endif
}

template <typename F> struct Best {
    Vec<F> value, second;
    Int<F> index;

    POSTERIORI_INLINE void see(Vec<F> v, Int<F> k) {
        index = v < value ? k : index;
        second = smaller<F>(second, larger<F>(v, value));
        value = smaller<F>(v, value);
    }
};

// The nearest and second nearest of two registers of rows; `panel` begins with the first of them.
template <typename F>
POSTERIORI_INLINE void search(const Packed<F>& c, const F* panel, std::size_t d, Best<F>& a, Best<F>& b) {
    constexpr std::size_t W = WIDTH<F>;
    const Vec<F> far = spread<F>(std::numeric_limits<F>::infinity());
    a = b = {far, far, Int<F>{}};
    const F* centre = c.panel.data();
    Int<F> k{};
    for (std::size_t t = 0; t < c.tiles; ++t) {
        const F* h = &c.half[t * 4];
        Vec<F> p0 = spread<F>(h[0]), p1 = p0, q0 = spread<F>(h[1]), q1 = q0, r0 = spread<F>(h[2]), r1 = r0,
               s0 = spread<F>(h[3]), s1 = s0;
        for (std::size_t j = 0; j < d; ++j, centre += 4) {
            const Vec<F> x = load<F>(panel + j * GROUP), y = load<F>(panel + j * GROUP + W);
            p0 -= centre[0] * x, p1 -= centre[0] * y;
            q0 -= centre[1] * x, q1 -= centre[1] * y;
            r0 -= centre[2] * x, r1 -= centre[2] * y;
            s0 -= centre[3] * x, s1 -= centre[3] * y;
        }
        a.see(p0, k), b.see(p1, k), k += 1;
        a.see(q0, k), b.see(q1, k), k += 1;
        a.see(r0, k), b.see(r1, k), k += 1;
        a.see(s0, k), b.see(s1, k), k += 1;
    }
}

// Of GROUP rows the nearest centre, half the squared distances (less ½‖x‖²) to it and to the next, by how much rounding may
// be off, and which rows are in doubt.
template <typename F> struct Verdict {
    using Place = std::conditional_t<sizeof(F) == 4, std::int32_t, std::int64_t>;
    alignas(REGISTER) Place index[GROUP], doubt[GROUP];
    alignas(REGISTER) F value[GROUP], second[GROUP], off[GROUP];
    bool doubtful;
};

template <typename F>
POSTERIORI_INLINE void judge(const Packed<F>& c, const F* panel, std::size_t d, Verdict<F>& out) {
    constexpr std::size_t W = WIDTH<F>;
    const F factor = F((double(d) + 8) * double(std::numeric_limits<F>::epsilon()) / 2), longest = F(c.longest * (1 + 1e-6));
    Int<F> any{};
    for (std::size_t g = 0; g < GROUP; g += 2 * W) {
        Best<F> best[2];
        search(c, panel + g, d, best[0], best[1]);
        for (std::size_t v = 0; v < 2; ++v) {
            const std::size_t at = g + v * W;
            const Vec<F> size = load<F>(panel + d * GROUP + at) + longest, off = factor * size * size;
            const Int<F> doubt = ~(Int<F>)(best[v].second - best[v].value > 2 * off);
            any |= doubt;
            std::memcpy(out.doubt + at, &doubt, sizeof doubt);
            std::memcpy(out.index + at, &best[v].index, sizeof best[v].index);
            store<F>(out.value + at, best[v].value), store<F>(out.second + at, best[v].second), store<F>(out.off + at, off);
        }
    }
    out.doubtful = false;
    for (std::size_t i = 0; i < W; ++i) out.doubtful |= any[i] != 0;
}

}  // namespace posteriori::kmeans
