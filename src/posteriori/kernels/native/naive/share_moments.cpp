// Moments of rows that belong to every class by shares. Each block is gone over once while it is in cache, some classes and
// columns at a time in registers, about pivots: each class's mean among the first rows of the block. Where a pivot was so far
// off that digits were lost (rows in order, a class that begins later) the class is gone over again, about its mean.
#include "moments.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

using namespace moments;

constexpr std::size_t FIRST = 16;    // rows that a pivot is taken from
constexpr double LOST = 1.0 / 4096;  // M2 may be this share of the squares about the pivot: twelve bits less
constexpr double NEAR = 1e-13;       // a pivot that near to the mean, beside its own size, is the mean to rounding

// One block of rows; what is found is (K, d) each. Masked: NaN cells take no part.
template <typename T, bool Masked> struct Shared {
    const T* x;
    std::ptrdiff_t row;
    std::size_t count, d, K;
    const double* shares;

    static void read(const T* from, double& to) { to = *from; }
    static void read(const T* from, Doubles& to) { to = load4(from); }

    void pivots(double* pivot, double* n, double* plain) const {
        const std::size_t rows = std::min(count, FIRST);
        std::fill(plain, plain + 2 * d, 0.0);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t j = 0; j < d; ++j) {
                const double value = x[static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(j)];
                if (Masked && value != value) continue;
                plain[j] += value, plain[d + j] += 1.0;
            }
        for (std::size_t k = 0; k < K; ++k) {
            double *p = pivot + k * d, *seen = n + k * d;
            std::fill(p, p + d, 0.0), std::fill(seen, seen + d, 0.0);
            for (std::size_t r = 0; r < rows; ++r) {
                const T* in = x + static_cast<std::ptrdiff_t>(r) * row;
                const double share = shares[r * K + k];
                for (std::size_t j = 0; j < d; ++j) {
                    const double value = in[j];
                    const bool there = !Masked || value == value;
                    p[j] += there ? share * value : 0.0;
                    seen[j] += there ? share : 0.0;
                }
            }
            for (std::size_t j = 0; j < d; ++j) {
                const double own = p[j] / seen[j], all = plain[d + j] > 0.0 ? plain[j] / plain[d + j] : 0.0;
                p[j] = seen[j] > 0.0 && std::isfinite(own) ? own : all;
            }
        }
    }

    // n = Σ s, e = Σ s(x − p) and q = Σ s(x − p)² of C classes from k on, in V `Lanes` of columns from j on.
    template <typename Lanes, std::size_t C, std::size_t V>
    void sums(std::size_t k, std::size_t j, const double* pivot, double* n, double* e, double* q) const {
        constexpr std::size_t step = sizeof(Lanes) / sizeof(double);
        Lanes p[C][V], es[C][V], qs[C][V], ns[C][V];
        for (std::size_t c = 0; c < C; ++c)
            for (std::size_t v = 0; v < V; ++v) {
                std::memcpy(&p[c][v], pivot + (k + c) * d + j + v * step, sizeof(Lanes));
                es[c][v] = qs[c][v] = ns[c][v] = Lanes{};
            }
        const T* in = x + j;
        const double* share = shares + k;
        for (std::size_t r = 0; r < count; ++r, in += row, share += K) {
            Lanes value[V];
            for (std::size_t v = 0; v < V; ++v) read(in + v * step, value[v]);
            for (std::size_t c = 0; c < C; ++c)
                for (std::size_t v = 0; v < V; ++v) {
                    Lanes gap = value[v] - p[c][v];
                    if constexpr (Masked) {
                        gap = value[v] == value[v] ? gap : Lanes{};
                        ns[c][v] += value[v] == value[v] ? Lanes{} + share[c] : Lanes{};
                    }
                    const Lanes part = share[c] * gap;
                    es[c][v] += part;
                    qs[c][v] += part * gap;
                }
        }
        for (std::size_t c = 0; c < C; ++c)
            for (std::size_t v = 0; v < V; ++v) {
                const std::size_t at = (k + c) * d + j + v * step;
                std::memcpy(e + at, &es[c][v], sizeof(Lanes));
                std::memcpy(q + at, &qs[c][v], sizeof(Lanes));
                if (Masked) std::memcpy(n + at, &ns[c][v], sizeof(Lanes));
            }
    }

    // All columns of C classes; the last vector may go over some columns again, to the same end.
    template <std::size_t C> void sums(std::size_t k, const double* pivot, double* n, double* e, double* q) const {
        if (d == 1) return sums<double, C, 1>(k, 0, pivot, n, e, q);
        if (d == 2) return sums<double, C, 2>(k, 0, pivot, n, e, q);
        if (d == 3) return sums<double, C, 3>(k, 0, pivot, n, e, q);
        std::size_t j = 0;
        for (; j + 8 <= d; j += 8) sums<Doubles, C, 2>(k, j, pivot, n, e, q);
        for (; j < d; j += 4) sums<Doubles, C, 1>(k, std::min(j, d - 4), pivot, n, e, q);
    }

    void weigh(double* n) const {
        std::vector<double> total(K, 0.0);
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t k = 0; k < K; ++k) total[k] += shares[r * K + k];
        for (std::size_t k = 0; k < K; ++k) std::fill_n(n + k * d, d, total[k]);
    }
};

struct Scratch {
    std::vector<double> pivot, n, e, q, plain;
    Scratch(std::size_t K, std::size_t d) : pivot(K * d), n(K * d), e(K * d), q(K * d), plain(2 * d) {}
};

// e into the mean's way from the pivot and q into M2, of one class; false if too many digits were lost.
bool centre(const double* pivot, const double* n, double* e, double* q, std::size_t d) {
    bool sound = true;
    for (std::size_t j = 0; j < d; ++j) {
        const double off = n[j] > 0.0 ? e[j] / n[j] : 0.0, m2 = q[j] - off * e[j];
        sound &= !(m2 < LOST * q[j]) || std::abs(off) <= NEAR * std::abs(pivot[j]);
        q[j] = std::max(m2, 0.0);
        e[j] = off;
    }
    return sound;
}

template <typename T, bool Masked> bool add_block(const Shared<T, Masked>& block, Scratch& scratch, Running& into) {
    const std::size_t d = block.d, K = block.K;
    double *pivot = scratch.pivot.data(), *n = scratch.n.data(), *e = scratch.e.data(), *q = scratch.q.data();
    block.pivots(pivot, n, scratch.plain.data());
    std::size_t k = 0;
    for (; k + 2 <= K; k += 2) block.template sums<2>(k, pivot, n, e, q);
    if (k < K) block.template sums<1>(k, pivot, n, e, q);
    if (!Masked) {
        for (std::size_t i = 0; i < K * d; ++i)
            if (!std::isfinite(e[i])) return false;  // a row of share 0 may hold NaN too
        block.weigh(n);
    }
    for (k = 0; k < K; ++k) {
        const std::size_t at = k * d;
        for (int again = 0; !centre(pivot + at, n + at, e + at, q + at, d) && again < 2; ++again) {
            for (std::size_t i = at; i < at + d; ++i) pivot[i] += e[i];
            block.template sums<1>(k, pivot, n, e, q);
        }
        merge_row(into, at, d, At{n + at, pivot + at, e + at, q + at, nullptr, nullptr});
    }
    return true;
}

template <typename T>
int add_shares(const Matrix<T>& X, std::size_t K, const double* shares, std::size_t begin, std::size_t end, std::size_t step,
               Running& into) {
    Scratch scratch(K, X.d);
    std::vector<T> turned;
    int seen = CLEAN;
    for (std::size_t b = begin; b < end; b += step) {
        const std::size_t count = std::min(step, end - b);
        std::ptrdiff_t row;
        const T* x = X.rows(b, count, turned, &row);
        if (add_block(Shared<T, false>{x, row, count, X.d, K, shares + b * K}, scratch, into)) continue;
        seen |= look(x, row, count, X.d);
        add_block(Shared<T, true>{x, row, count, X.d, K, shares + b * K}, scratch, into);
    }
    return seen;
}

}  // namespace

template <typename T>
int share_moments(const Matrix<T>& X, std::size_t K, const double* shares, const MomentsOut& out, int threads) {
    return in_chunks(X, K, out, threads, [&](std::size_t begin, std::size_t end, std::size_t step, Running& into) {
        return add_shares(X, K, shares, begin, end, step, into);
    });
}

template int share_moments<double>(const Matrix<double>&, std::size_t, const double*, const MomentsOut&, int);
template int share_moments<float>(const Matrix<float>&, std::size_t, const double*, const MomentsOut&, int);

}  // namespace posteriori
