// A tile of TALL × (2 registers) inner products stays in registers; φ is applied there, before anything is stored.
#include "kernel_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t TALL = 6;
constexpr std::size_t BLOCK = 512;  // columns worked on together: their panels stay in the second-level cache
constexpr std::size_t BAND = 96;    // rows of a task of kernel_sums

template <typename T> constexpr std::size_t WIDE = 2 * WIDTH<T>;
template <typename T> using Tile = Vec<T>[TALL][2];

enum class Inner { product, squared, absolute };

template <typename T, Inner inner> POSTERIORI_INLINE void accumulate(Vec<T>& sum, Vec<T> a, Vec<T> b) {
    if constexpr (inner == Inner::product) {
        sum += a * b;
    } else {
        const Vec<T> gap = a - b;
        if constexpr (inner == Inner::squared) sum += gap * gap;
        else sum += larger<T>(gap, -gap);
    }
}

// Not inlined: next to the constants of φ the sums would not stay in registers.
template <typename T, Inner inner> __attribute__((noinline)) void fill(Tile<T>& out, const T* a, const T* b, std::size_t d) {
    Tile<T> tile = {};
    for (std::size_t f = 0; f < d; ++f, a += TALL, b += WIDE<T>) {
        const Vec<T> b0 = load<T>(b), b1 = load<T>(b + WIDTH<T>);
#pragma GCC unroll 6
        for (std::size_t i = 0; i < TALL; ++i) {
            const Vec<T> ai = spread<T>(a[i]);
            accumulate<T, inner>(tile[i][0], ai, b0);
            accumulate<T, inner>(tile[i][1], ai, b1);
        }
    }
#pragma GCC unroll 6
    for (std::size_t i = 0; i < TALL; ++i) out[i][0] = tile[i][0], out[i][1] = tile[i][1];
}

template <typename T> POSTERIORI_INLINE Vec<T> power(Vec<T> base, int degree) {
    Vec<T> out = spread<T>(1);
    for (; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) out *= base;
    return out;
}

// The numbers of a kernel in its precision; a copy of its own stays in registers while kernel values are stored.
template <typename T> struct Numbers {
    T scale, shift;
    int degree;
    explicit Numbers(const KernelSpec& k) : scale(static_cast<T>(k.scale)), shift(static_cast<T>(k.shift)), degree(k.degree) {}
};

template <typename T, KernelKind kind> POSTERIORI_INLINE Vec<T> phi(Numbers<T> k, Vec<T> s, T a_norm, Vec<T> b_norm) {
    if constexpr (kind == KernelKind::dot) return s * k.scale + k.shift;
    if constexpr (kind == KernelKind::polynomial) return power<T>(s * k.scale + k.shift, k.degree);
    if constexpr (kind == KernelKind::sigmoid) return T(1) - T(2) / (exp_lanes<T>(T(2) * (s * k.scale + k.shift)) + T(1));
    if constexpr (kind == KernelKind::rbf)
        return exp_lanes<T, true>(larger<T>((b_norm + a_norm) - (s + s), Vec<T>{}) * -k.scale);
    if constexpr (kind == KernelKind::distance) return exp_lanes<T, true>(sqrt_lanes<T>(s) * -k.scale);
    if constexpr (kind == KernelKind::manhattan) return exp_lanes<T, true>(s * -k.scale);
}

template <KernelKind kind> constexpr Inner INNER = kind == KernelKind::distance    ? Inner::squared
                                                   : kind == KernelKind::manhattan ? Inner::absolute
                                                                                   : Inner::product;

// Rows regrouped as [group][feature][TALL], the last group padded with zeros.
template <typename T> std::vector<T> in_groups(const T* a, std::size_t m, std::size_t d) {
    const std::size_t groups = (m + TALL - 1) / TALL;
    std::vector<T> out(groups * TALL * d);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t f = 0; f < d; ++f) out[(i / TALL * d + f) * TALL + i % TALL] = a[i * d + f];
    return out;
}

// K between one group of rows and one panel: row i goes to out[i], at place `at`.
template <typename T, KernelKind kind>
POSTERIORI_INLINE void kernel_tile(Numbers<T> numbers, const T* group, const T* a_norms, Packed<T> b, std::size_t panel,
                                   T* const* out, std::size_t at, std::size_t rows) {
    Tile<T> tile;
    fill<T, INNER<kind>>(tile, group, b.panels + panel * b.d * WIDE<T>, b.d);
    const Vec<T> n0 = load<T>(b.norms + panel * WIDE<T>), n1 = load<T>(b.norms + panel * WIDE<T> + WIDTH<T>);
    for (std::size_t i = 0; i < rows; ++i) {
        store<T>(out[i] + at, phi<T, kind>(numbers, tile[i][0], a_norms[i], n0));
        store<T>(out[i] + at + WIDTH<T>, phi<T, kind>(numbers, tile[i][1], a_norms[i], n1));
    }
}

template <typename T, KernelKind kind>
void rows_of(const KernelSpec& spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, T* out, std::size_t stride,
             const long long* slot, int threads, bool upper = false) {  // upper: columns left of the diagonal are skipped
    const Numbers<T> numbers(spec);
    const std::vector<T> groups = in_groups(a, m, b.d);
    const std::size_t full = b.n / WIDE<T>;  // panels without padding
    parallel_for((b.n + BLOCK - 1) / BLOCK, threads, [&, numbers](std::size_t block) {
        const std::size_t first = block * BLOCK / WIDE<T>, last = std::min(full, first + BLOCK / WIDE<T>);
        const std::size_t tail = last == full && (block + 1) * BLOCK > b.n ? b.n - full * WIDE<T> : 0;
        for (std::size_t i = 0; i < m; i += TALL) {
            const std::size_t rows = std::min(TALL, m - i);
            const T* group = groups.data() + i * b.d;
            T* into[TALL];
            for (std::size_t r = 0; r < rows; ++r)
                into[r] = out + (upper ? i + r : static_cast<std::size_t>(slot[i + r])) * stride;
            for (std::size_t p = upper ? std::max(first, i / WIDE<T>) : first; p < last; ++p)
                kernel_tile<T, kind>(numbers, group, a_norms + i, b, p, into, p * WIDE<T>, rows);
            if (tail) {
                T edge[TALL][WIDE<T>];
                T* into_edge[TALL] = {edge[0], edge[1], edge[2], edge[3], edge[4], edge[5]};
                kernel_tile<T, kind>(numbers, group, a_norms + i, b, full, into_edge, 0, rows);
                for (std::size_t r = 0; r < rows; ++r) std::copy_n(edge[r], tail, into[r] + full * WIDE<T>);
            }
        }
    });
}

template <typename T, KernelKind kind>
void square_of(const KernelSpec& spec, const T* rows, Packed<T> b, T* out, std::size_t stride, int threads) {
    constexpr std::size_t SIDE = 64;
    rows_of<T, kind>(spec, rows, b.norms, b.n, b, out, stride, nullptr, threads, true);
    parallel_for((b.n + SIDE - 1) / SIDE, threads, [&](std::size_t t) {
        const std::size_t end = std::min(b.n, (t + 1) * SIDE);
        for (std::size_t j0 = 0; j0 <= t * SIDE; j0 += SIDE)
            for (std::size_t i = t * SIDE; i < end; ++i)
                for (std::size_t j = j0; j < std::min(i, j0 + SIDE); ++j) out[i * stride + j] = out[j * stride + i];
    });
}

// Inner products with all rows at once: each of a_i's cells meets only the rows that have its column.
template <typename T, KernelKind kind>
void sparse_rows_of(const KernelSpec& spec, const std::int64_t* starts, const std::int32_t* columns, const double* values,
                    const double* a_norms, std::size_t m, SparseColumns b, T* out, std::size_t stride,
                    const long long* slot, int threads) {
    constexpr std::size_t W = WIDTH<double>, SOME = 8;
    const Numbers<double> numbers(spec);
    parallel_for((m + SOME - 1) / SOME, threads, [&, numbers](std::size_t task) {
        std::vector<double> inner(b.n + W);
        for (std::size_t i = task * SOME; i < std::min(m, (task + 1) * SOME); ++i) {
            std::fill(inner.begin(), inner.end(), 0.0);
            for (std::int64_t c = starts[i]; c < starts[i + 1]; ++c) {
                const double x = values[c];
                for (std::int64_t e = b.starts[columns[c]]; e < b.starts[columns[c] + 1]; ++e) inner[b.at[e]] += x * b.values[e];
            }
            T* row = out + static_cast<std::size_t>(slot[i]) * stride;
            for (std::size_t j = 0; j < b.n; j += W) {
                Vec<double> s = load(inner.data() + j), norm{};
                const std::size_t here = std::min(W, b.n - j);
                for (std::size_t l = 0; l < here; ++l) norm[l] = b.norms[j + l];
                if constexpr (kind == KernelKind::distance) s = larger<double>((norm + a_norms[i]) - (s + s), Vec<double>{});
                const Vec<double> value = phi<double, kind>(numbers, s, a_norms[i], norm);
                for (std::size_t l = 0; l < here; ++l) row[j + l] = static_cast<T>(value[l]);
            }
        }
    });
}

template <typename T> double dot_double(const T* row, const double* coef, std::size_t n) {
    double sums[8] = {};
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (std::size_t l = 0; l < 8; ++l) sums[l] += static_cast<double>(row[j + l]) * coef[j + l];
    for (; j < n; ++j) sums[j % 8] += static_cast<double>(row[j]) * coef[j];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <typename T, KernelKind kind>
void sums_of(const KernelSpec& spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, const double* coef,
             std::size_t k, double* out, int threads) {
    const Numbers<T> numbers(spec);
    const std::vector<T> groups = in_groups(a, m, b.d);
    parallel_for((m + BAND - 1) / BAND, threads, [&, numbers](std::size_t band) {
        T values[TALL][BLOCK];
        T* into[TALL] = {values[0], values[1], values[2], values[3], values[4], values[5]};
        const std::size_t end = std::min(m, (band + 1) * BAND);
        for (std::size_t j = 0; j < b.n; j += BLOCK) {
            const std::size_t columns = std::min(BLOCK, b.n - j);
            for (std::size_t i = band * BAND; i < end; i += TALL) {
                const std::size_t rows = std::min(TALL, end - i);
                for (std::size_t c = 0; c < columns; c += WIDE<T>)
                    kernel_tile<T, kind>(numbers, groups.data() + i * b.d, a_norms + i, b, (j + c) / WIDE<T>, into, c, rows);
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < k; ++c)
                        out[(i + r) * k + c] += dot_double(values[r], coef + c * b.n + j, columns);
            }
        }
    });
}

}  // namespace

template <typename T> std::size_t panel_width() { return WIDE<T>; }

template <typename T> void pack_rows(const T* rows, std::size_t n, std::size_t d, T* panels, T* norms, int threads) {
    const std::size_t count = (n + WIDE<T> - 1) / WIDE<T>;
    parallel_for(count, threads, [&](std::size_t p) {
        T* panel = panels + p * d * WIDE<T>;
        const std::size_t here = std::min(WIDE<T>, n - p * WIDE<T>);
        std::fill_n(panel, d * WIDE<T>, T(0));
        for (std::size_t i = 0; i < here; ++i)
            for (std::size_t f = 0; f < d; ++f) panel[f * WIDE<T> + i] = rows[(p * WIDE<T> + i) * d + f];
        Vec<T> n0{}, n1{};
        for (std::size_t f = 0; f < d; ++f) {
            const Vec<T> b0 = load<T>(panel + f * WIDE<T>), b1 = load<T>(panel + f * WIDE<T> + WIDTH<T>);
            accumulate<T, Inner::product>(n0, b0, b0);
            accumulate<T, Inner::product>(n1, b1, b1);
        }
        store<T>(norms + p * WIDE<T>, n0);
        store<T>(norms + p * WIDE<T> + WIDTH<T>, n1);
    });
}

#define POSTERIORI_EACH_KIND(function, ...)                                                             \
    switch (spec.kind) {                                                                                \
        case KernelKind::dot: return function<T, KernelKind::dot>(__VA_ARGS__);                         \
        case KernelKind::polynomial: return function<T, KernelKind::polynomial>(__VA_ARGS__);           \
        case KernelKind::sigmoid: return function<T, KernelKind::sigmoid>(__VA_ARGS__);                 \
        case KernelKind::rbf: return function<T, KernelKind::rbf>(__VA_ARGS__);                         \
        case KernelKind::distance: return function<T, KernelKind::distance>(__VA_ARGS__);               \
        case KernelKind::manhattan: return function<T, KernelKind::manhattan>(__VA_ARGS__);             \
    }

template <typename T>
void kernel_rows(KernelSpec spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, T* out, std::size_t stride,
                 const long long* slot, int threads) {
    POSTERIORI_EACH_KIND(rows_of, spec, a, a_norms, m, b, out, stride, slot, threads)
}

template <typename T>
void kernel_square(KernelSpec spec, const T* rows, Packed<T> b, T* out, std::size_t stride, int threads) {
    POSTERIORI_EACH_KIND(square_of, spec, rows, b, out, stride, threads)
}

template <typename T>
void sparse_kernel_rows(KernelSpec spec, const std::int64_t* starts, const std::int32_t* columns, const double* values,
                        const double* a_norms, std::size_t m, SparseColumns b, T* out, std::size_t stride,
                        const long long* slot, int threads) {
    POSTERIORI_EACH_KIND(sparse_rows_of, spec, starts, columns, values, a_norms, m, b, out, stride, slot, threads)
}

template <typename T>
void kernel_sums(KernelSpec spec, const T* a, const T* a_norms, std::size_t m, Packed<T> b, const double* coef,
                 std::size_t k, double* out, int threads) {
    POSTERIORI_EACH_KIND(sums_of, spec, a, a_norms, m, b, coef, k, out, threads)
}

#define POSTERIORI_FOR(T)                                                                                                 \
    template std::size_t panel_width<T>();                                                                                \
    template void pack_rows<T>(const T*, std::size_t, std::size_t, T*, T*, int);                                          \
    template void kernel_rows<T>(KernelSpec, const T*, const T*, std::size_t, Packed<T>, T*, std::size_t,                \
                                 const long long*, int);                                                                  \
    template void kernel_square<T>(KernelSpec, const T*, Packed<T>, T*, std::size_t, int);                                \
    template void sparse_kernel_rows<T>(KernelSpec, const std::int64_t*, const std::int32_t*, const double*,              \
                                        const double*, std::size_t, SparseColumns, T*, std::size_t, const long long*, int); \
    template void kernel_sums<T>(KernelSpec, const T*, const T*, std::size_t, Packed<T>, const double*, std::size_t,      \
                                 double*, int);
POSTERIORI_FOR(float)
POSTERIORI_FOR(double)

}  // namespace posteriori
