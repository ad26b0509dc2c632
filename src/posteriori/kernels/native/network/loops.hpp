// Loops over a dense table A beside a smaller table B that is addressed by strides (0 on the axes B does not have).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace posteriori {

using Index = std::int64_t;

// The axes of A from the last to the first with the stride of B on each; axes that run on in both tables are one axis.
// A table in memory has fewer than 63 axes of more than one state, so the room is fixed.
struct Nest {
    int dims = 0;
    Index length[64];
    Index stride[64];

    void add(Index n, Index s) {
        if (n == 1) return;
        if (dims && stride[dims - 1] * length[dims - 1] == s) {
            length[dims - 1] *= n;
            return;
        }
        length[dims] = n;
        stride[dims++] = s;
    }

    Index cells() const {
        Index total = 1;
        for (int k = 0; k < dims; ++k) total *= length[k];
        return total;
    }
};

// What happens where a cell of A meets its cell of B. `row` sees n cells of A that share one cell of B.
struct Assign {
    static void cell(double& a, const double& b) { a = b; }
    static void row(double* a, const double& b, Index n) { std::fill(a, a + n, b); }
};

struct Multiply {
    static void cell(double& a, const double& b) { a *= b; }
    static void row(double* a, const double& b, Index n) {
        const double factor = b;
        for (Index i = 0; i < n; ++i) a[i] *= factor;
    }
};

struct Plus {  // Multiply, in logarithms
    static void cell(double& a, const double& b) { a += b; }
    static void row(double* a, const double& b, Index n) {
        const double term = b;
        for (Index i = 0; i < n; ++i) a[i] += term;
    }
};

struct Add {
    static void cell(const double& a, double& b) { b += a; }
    static void row(const double* a, double& b, Index n) {
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        Index i = 0;
        for (; i + 4 <= n; i += 4) s0 += a[i], s1 += a[i + 1], s2 += a[i + 2], s3 += a[i + 3];
        for (; i < n; ++i) s0 += a[i];
        b += (s0 + s1) + (s2 + s3);
    }
};

struct Max {
    static void cell(const double& a, double& b) { b = a > b ? a : b; }
    static void row(const double* a, double& b, Index n) {
        double top = b;
        for (Index i = 0; i < n; ++i) top = a[i] > top ? a[i] : top;
        b = top;
    }
};

// Σ in logarithms, in two passes: the largest term of each sum, then the sum of the terms relative to it.
struct LogSum {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    double value() const { return sum > 0 ? top + std::log(sum) : top; }
};

struct Largest {
    static void cell(const double& a, LogSum& b) { b.top = a > b.top ? a : b.top; }
    static void row(const double* a, LogSum& b, Index n) {
        for (Index i = 0; i < n; ++i) cell(a[i], b);
    }
};

struct Relative {
    static void cell(const double& a, LogSum& b) {
        if (std::isfinite(b.top)) b.sum += std::exp(a - b.top);
    }
    static void row(const double* a, LogSum& b, Index n) {
        for (Index i = 0; i < n; ++i) cell(a[i], b);
    }
};

namespace detail {

// Two innermost axes: `rows` of `n` cells; N > 0 is n known when compiling.
template <typename Op, int N, typename A, typename B>
inline void sheet(A* __restrict a, B* __restrict b, Index rows, Index n_given, Index down, Index along) {
    const Index n = N > 0 ? N : n_given;
    if (along == 0) {
        for (Index m = 0; m < rows; ++m) Op::row(a + m * n, b[m * down], n);
    } else if (along == 1) {
        for (Index m = 0; m < rows; ++m) {
            A* x = a + m * n;
            B* y = b + m * down;
            for (Index i = 0; i < n; ++i) Op::cell(x[i], y[i]);
        }
    } else {
        for (Index m = 0; m < rows; ++m)
            for (Index i = 0; i < n; ++i) Op::cell(a[m * n + i], b[m * down + i * along]);
    }
}

}  // namespace detail

// Applies Op to every cell of A, in order. A and B do not overlap.
template <typename Op, typename A, typename B> void sweep(const Nest& nest, A* a, B* b) {
    if (nest.dims == 0) {
        Op::cell(*a, *b);
        return;
    }
    const Index n = nest.length[0], along = nest.stride[0];
    const Index rows = nest.dims > 1 ? nest.length[1] : 1, down = nest.dims > 1 ? nest.stride[1] : 0;
    auto one = [&] {
        switch (n) {
            case 2: detail::sheet<Op, 2>(a, b, rows, n, down, along); break;
            case 3: detail::sheet<Op, 3>(a, b, rows, n, down, along); break;
            case 4: detail::sheet<Op, 4>(a, b, rows, n, down, along); break;
            default: detail::sheet<Op, 0>(a, b, rows, n, down, along);
        }
    };
    if (nest.dims <= 2) return one();
    Index count[64];
    std::fill(count, count + nest.dims, 0);
    for (;;) {
        one();
        a += rows * n;
        int k = 2;
        for (; k < nest.dims; ++k) {
            b += nest.stride[k];
            if (++count[k] < nest.length[k]) break;
            b -= nest.stride[k] * nest.length[k];
            count[k] = 0;
        }
        if (k >= nest.dims) return;
    }
}

// Scales to sum one; false when there is nothing to scale.
inline bool normalise(double* x, Index n) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += x[i];
    if (!(total > 0)) return false;
    const double scale = 1 / total;
    if (std::isfinite(scale))
        for (Index i = 0; i < n; ++i) x[i] *= scale;
    else
        for (Index i = 0; i < n; ++i) x[i] /= total;
    return true;
}

constexpr double kLeastLog = -600;  // products that could fall below e^−600 are taken in logarithms

// Logarithms less their largest, in place, which is returned (−∞: all are zero). Where none of them falls too low they
// come back as numbers, and `wide` is false; a wide table stays in logarithms, or small cells would be lost.
inline double settle(double* x, Index n, bool& wide) {
    const double zero = -std::numeric_limits<double>::infinity();
    double top = zero, least = 0;
    for (Index i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    if (top == zero) {
        wide = false;
        std::fill(x, x + n, 0.0);
        return zero;
    }
    for (Index i = 0; i < n; ++i) {
        x[i] -= top;
        if (x[i] < least && x[i] > zero) least = x[i];
    }
    wide = least < kLeastLog;
    if (!wide)
        for (Index i = 0; i < n; ++i) x[i] = std::exp(x[i]);
    return top;
}

}  // namespace posteriori
