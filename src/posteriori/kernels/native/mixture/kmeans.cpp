// The nearest centre by products ½‖c‖² − x·c in single precision, rows in lanes; where the two best differ by no more than
// rounding could have done, by differences in double precision. So labels are those of exact arithmetic, but for ties to the
// last digit of a double.
#include "kmeans.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "margin/lanes.hpp"
#include "threads.hpp"

namespace posteriori::kmeans {
namespace {

constexpr std::size_t BLOCK = 256;  // rows looked at together

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

// The nearest and second nearest of a group of rows, `group` [column][row].
template <typename F>
POSTERIORI_INLINE void search(const Packed<F>& c, const F* group, std::size_t d, Best<F>& a, Best<F>& b) {
    constexpr std::size_t W = WIDTH<F>, G = 2 * W;
    const Vec<F> far = spread<F>(std::numeric_limits<F>::infinity());
    a = b = {far, far, Int<F>{}};
    const F* panel = c.panel.data();
    Int<F> k{};
    for (std::size_t t = 0; t < c.tiles; ++t) {
        const F* h = &c.half[t * 4];
        Vec<F> p0 = spread<F>(h[0]), p1 = p0, q0 = spread<F>(h[1]), q1 = q0, r0 = spread<F>(h[2]), r1 = r0,
               s0 = spread<F>(h[3]), s1 = s0;
        for (std::size_t j = 0; j < d; ++j, panel += 4) {
            const Vec<F> x = load<F>(group + j * G), y = load<F>(group + j * G + W);
            p0 -= panel[0] * x, p1 -= panel[0] * y;
            q0 -= panel[1] * x, q1 -= panel[1] * y;
            r0 -= panel[2] * x, r1 -= panel[2] * y;
            s0 -= panel[3] * x, s1 -= panel[3] * y;
        }
        a.see(p0, k), b.see(p1, k), k += 1;
        a.see(q0, k), b.see(q1, k), k += 1;
        a.see(r0, k), b.see(r1, k), k += 1;
        a.see(s0, k), b.see(s1, k), k += 1;
    }
}

template <typename T, typename F> struct Search {
    static constexpr std::size_t W = WIDTH<F>, G = 2 * W;
    using Place = std::conditional_t<sizeof(F) == 4, std::int32_t, std::int64_t>;
    const Rows<T>& rows;
    const Centres& centres;
    const Packed<F> packed;
    const double epsilon = double(std::numeric_limits<F>::epsilon()) / 2;
    std::vector<double> apart_half;  // half the distance from each centre to the nearest other, in units
    double drift_most = 0.0, drift_next = 0.0;
    std::size_t drift_of = 0;

    Search(const Rows<T>& r, const Centres& c, const double* drift) : rows(r), centres(c), packed(c, r.d, r.unit) {
        if (drift == nullptr) return;
        for (std::size_t k = 0; k < c.K; ++k) {
            if (drift[k] > drift_most) drift_next = drift_most, drift_most = drift[k], drift_of = k;
            else drift_next = std::max(drift_next, drift[k]);
        }
        const std::vector<double> origin(r.d, 0.0);
        apart_half.assign(c.K, std::numeric_limits<double>::infinity());
        for (std::size_t k = 0; k < c.K; ++k)
            for (std::size_t l = 0; l < k; ++l) {
                const double half = 0.5 * r.unit * std::sqrt(apart(c.C + k * r.d, origin.data(), c.C + l * r.d, r.d));
                apart_half[k] = std::min(apart_half[k], half), apart_half[l] = std::min(apart_half[l], half);
            }
    }

    // Whether a row's label stands for certain; its bounds are brought up to date.
    bool stands(std::size_t r, const double* drift, std::int32_t label, float* bound) const {
        constexpr float up = 1 + 4e-7f, down = 1 - 4e-7f;
        float upper = (bound[0] + float(drift[label])) * up;
        const float moved = float(std::size_t(label) == drift_of ? drift_next : drift_most) * up;
        const float lower = (bound[1] - moved) * (bound[1] > moved ? down : up);
        const float least = std::max(lower, float(apart_half[label]) * down);
        bound[0] = upper, bound[1] = lower;
        if (upper < least) return true;
        upper = float(rows.unit * std::sqrt(apart(rows.X + r * rows.d, rows.shift, centres.C + label * rows.d, rows.d))) * up;
        bound[0] = upper;
        return upper < least;
    }

    // By differences: the nearest centre and the squared distances to it and to the next.
    std::int32_t settle(std::size_t r, double& nearest, double& next) const {
        std::int32_t best = 0;
        nearest = next = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < centres.K; ++k) {
            const double gap = apart(rows.X + r * rows.d, rows.shift, centres.C + k * rows.d, rows.d);
            if (gap < nearest) next = nearest, nearest = gap, best = std::int32_t(k);
            else next = std::min(next, gap);
        }
        return best;
    }

    // Rows of a group, in units, [column][row]; where there are fewer, the last again.
    void read(const std::uint32_t* active, std::size_t here, std::size_t first, F* __restrict row, F* __restrict group) const {
        const std::size_t d = rows.d;
        const double* __restrict shift = rows.shift;
        for (std::size_t i = 0; i < G; ++i) {
            const T* __restrict x = rows.X + (first + active[std::min(i, here - 1)]) * d;
            if (d < 8) {
                for (std::size_t j = 0; j < d; ++j) group[j * G + i] = F((double(x[j]) - shift[j]) * rows.unit);
                continue;
            }
            for (std::size_t j = 0; j < d; ++j) row[j] = F((double(x[j]) - shift[j]) * rows.unit);
            for (std::size_t j = 0; j < d; ++j) group[j * G + i] = row[j];
        }
    }

    // Labels and bounds of the rows listed in `active`; how many had to be settled.
    std::int64_t look(const std::uint32_t* active, std::size_t count, std::size_t first, F* buffer, std::int32_t* label,
                      float* bounds) const {
        const std::size_t d = rows.d;
        F* group = buffer + d;
        std::int64_t settled = 0;
        const F factor = F((double(d) + 8) * epsilon), longest = F(packed.longest * (1 + 1e-6));
        for (std::size_t at = 0; at < count; at += G) {
            const std::size_t here = std::min(G, count - at);
            read(active + at, here, first, buffer, group);
            Best<F> pair[2];
            search(packed, group, d, pair[0], pair[1]);
            Place index[G], doubts[G];
            F value[G], second[G], error[G];
            Int<F> any{};
            for (std::size_t v = 0; v < 2; ++v) {
                Vec<F> norm2{};
                for (std::size_t j = 0; j < d; ++j) {
                    const Vec<F> x = load<F>(group + j * G + v * W);
                    norm2 += x * x;
                }
                const Vec<F> size = sqrt_lanes<F>(norm2) + longest, off = factor * size * size;
                const Int<F> doubt = ~(Int<F>)(pair[v].second - pair[v].value > 2 * off);
                any |= doubt;
                std::memcpy(doubts + v * W, &doubt, sizeof doubt);
                std::memcpy(index + v * W, &pair[v].index, sizeof pair[v].index);
                store<F>(value + v * W, norm2 + 2 * pair[v].value), store<F>(second + v * W, norm2 + 2 * pair[v].second);
                store<F>(error + v * W, off);
            }
            for (std::size_t i = 0; i < here; ++i) label[first + active[at + i]] = std::int32_t(index[i]);
            if (bounds) {
                F upper[G], lower[G];
                for (std::size_t v = 0; v < G; v += W) {
                    const Vec<F> off = 6 * load<F>(error + v), zero{};
                    store<F>(upper + v, sqrt_lanes<F>(larger<F>(load<F>(value + v) + off, zero)));
                    store<F>(lower + v, sqrt_lanes<F>(larger<F>(load<F>(second + v) - off, zero)));
                }
                for (std::size_t i = 0; i < here; ++i) {
                    float* bound = bounds + 2 * (first + active[at + i]);
                    bound[0] = float(upper[i]) * (1 + 4e-7f), bound[1] = float(lower[i]) * (1 - 4e-7f);
                }
            }
            bool doubtful = false;
            for (std::size_t i = 0; i < W; ++i) doubtful |= any[i] != 0;
            if (!doubtful) continue;
            for (std::size_t i = 0; i < here; ++i) {
                if (doubts[i] == 0) continue;
                const std::size_t r = first + active[at + i];
                double nearest, next;
                label[r] = settle(r, nearest, next);
                ++settled;
                if (!bounds) continue;
                bounds[2 * r] = float(rows.unit * std::sqrt(nearest)) * (1 + 4e-7f);
                bounds[2 * r + 1] = float(rows.unit * std::sqrt(next)) * (1 - 4e-7f);
            }
        }
        return settled;
    }
};

template <typename T>
void add_rows(const Rows<T>& rows, std::size_t first, std::size_t count, const std::int32_t* label, double* __restrict S,
              double* __restrict N) {
    const std::size_t d = rows.d;
    const double* __restrict shift = rows.shift;
    for (std::size_t r = first; r < first + count; ++r) {
        const double w = rows.weights ? rows.weights[r] : 1.0;
        const T* __restrict x = rows.X + r * d;
        double* __restrict s = S + std::size_t(label[r]) * d;
        N[label[r]] += w;
        for (std::size_t j = 0; j < d; ++j) s[j] += w * (double(x[j]) - shift[j]);
    }
}

template <typename T, typename F>
Step run(const Rows<T>& rows, const Centres& centres, const double* drift, std::int32_t* label, float* bounds, double* S,
         double* N, int threads) {
    const std::size_t n = rows.n, d = rows.d, K = centres.K, blocks = (n + BLOCK - 1) / BLOCK;
    const Search<T, F> search(rows, centres, bounds ? drift : nullptr);
    const std::size_t most = std::clamp<std::size_t>((std::size_t(64) << 20) / (K * (d + 1) * 8), 8, 64);
    const std::size_t each = std::max<std::size_t>((blocks + most - 1) / most, std::min<std::size_t>(blocks, 8));
    const std::size_t parts = blocks ? (blocks + each - 1) / each : 0;
    std::vector<std::vector<double>> sums(parts);
    std::atomic<std::int64_t> changed{0}, settled{0};
    parallel_for(parts, threads, [&](std::size_t t) {
        std::vector<double>& sum = sums[t];
        sum.assign(K * (d + 1), 0.0);
        std::vector<F> group(d * (2 * WIDTH<F> + 1));
        std::uint32_t active[BLOCK];
        std::int32_t before[BLOCK];
        std::int64_t other = 0, doubts = 0;
        for (std::size_t b = t * each; b < std::min(blocks, (t + 1) * each); ++b) {
            const std::size_t first = b * BLOCK, count = std::min(BLOCK, n - first);
            std::size_t m = 0;
            for (std::size_t i = 0; i < count; ++i) {
                before[i] = label[first + i];
                const bool sure = drift && bounds && search.stands(first + i, drift, before[i], bounds + 2 * (first + i));
                active[m] = std::uint32_t(i);
                m += !sure;
            }
            doubts += search.look(active, m, first, group.data(), label, bounds);
            for (std::size_t i = 0; i < m; ++i) other += label[first + active[i]] != before[active[i]];
            add_rows(rows, first, count, label, sum.data(), sum.data() + K * d);
        }
        changed += other, settled += doubts;
    });
    std::fill(S, S + K * d, 0.0), std::fill(N, N + K, 0.0);
    for (const auto& sum : sums) {
        for (std::size_t i = 0; i < K * d; ++i) S[i] += sum[i];
        for (std::size_t k = 0; k < K; ++k) N[k] += sum[K * d + k];
    }
    return {changed, settled};
}

constexpr std::size_t TASK = 4096;  // rows

}  // namespace

template <typename T>
Step step(const Rows<T>& rows, const Centres& centres, const double* drift, bool wide, std::int32_t* label, float* bounds,
          double* S, double* N, int threads) {
    return wide ? run<T, double>(rows, centres, drift, label, bounds, S, N, threads)
                : run<T, float>(rows, centres, drift, label, bounds, S, N, threads);
}

template <typename T>
void distances(const Rows<T>& rows, const Centres& centres, const std::int32_t* label, double* out, int threads) {
    parallel_for((rows.n + TASK - 1) / TASK, threads, [&](std::size_t t) {
        for (std::size_t r = t * TASK; r < std::min(rows.n, (t + 1) * TASK); ++r)
            out[r] = apart(rows.X + r * rows.d, rows.shift, centres.C + std::size_t(label[r]) * rows.d, rows.d);
    });
}

template <typename T>
void candidates(const Rows<T>& rows, const std::int64_t* candidate, std::size_t m, const double* closest, double* out,
                int threads) {
    const std::size_t d = rows.d;
    std::vector<double> C(m * d);
    for (std::size_t c = 0; c < m; ++c)
        for (std::size_t j = 0; j < d; ++j) C[c * d + j] = double(rows.X[candidate[c] * d + j]) - rows.shift[j];
    parallel_for((rows.n + TASK - 1) / TASK, threads, [&](std::size_t t) {
        for (std::size_t r = t * TASK; r < std::min(rows.n, (t + 1) * TASK); ++r)
            for (std::size_t c = 0; c < m; ++c)
                out[c * rows.n + r] = std::min(closest[r], apart(rows.X + r * d, rows.shift, &C[c * d], d));
    });
}

#define POSTERIORI_KMEANS(T)                                                                                            \
    template Step step<T>(const Rows<T>&, const Centres&, const double*, bool, std::int32_t*, float*, double*, double*, \
                          int);                                                                                         \
    template void distances<T>(const Rows<T>&, const Centres&, const std::int32_t*, double*, int);                      \
    template void candidates<T>(const Rows<T>&, const std::int64_t*, std::size_t, const double*, double*, int);
POSTERIORI_KMEANS(float)
POSTERIORI_KMEANS(double)
#undef POSTERIORI_KMEANS

}  // namespace posteriori::kmeans
