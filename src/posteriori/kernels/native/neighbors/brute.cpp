// With x̃, q̃ the centred floats, ½‖x̃ − q̃‖² − ½‖q̃‖² = ½‖x̃‖² − x̃·q̃: a matrix product. It is off by at most
// err = (d + 8)·2⁻²⁴·(‖x̃‖ + ‖q̃‖)²: a point that it puts farther than the k-th neighbour plus err is not among the k
// nearest; every other is measured again from the original coordinates. So cancellation costs time, never digits.
#include "brute.hpp"

#include <algorithm>
#include <cmath>

#include "kdtree_search.hpp"
#include "threads.hpp"
#include "watch.hpp"

namespace posteriori::brute {
namespace {

using eight::Eight;
constexpr int P = 16;                // points of a panel block
constexpr int G = 4;                 // queries that share a pass over a block
constexpr std::int64_t group = 64;   // queries of a task
constexpr std::int64_t tile = 1024;  // points that stay in the cache while a task's queries pass over them

template <typename T> T exact(const T* x, const T* q, int d) {
    T sum = 0;
    for (int j = 0; j < d; ++j) {
        const T gap = x[j] - q[j];
        sum = eight::madd(gap, gap, sum);
    }
    return sum;
}

// ½‖x̃‖² − x̃·q̃ of P points and G queries.
inline void products(const float* block, const float* half, const float* q, int d, float* out) {
    Eight<float> sum[G][2];
    for (int g = 0; g < G; ++g) sum[g][0] = eight::load(half), sum[g][1] = eight::load(half + 8);
    for (int j = 0; j < d; ++j) {
        const Eight<float> a = eight::load(block + j * P), b = eight::load(block + j * P + 8);
        for (int g = 0; g < G; ++g) {
            const Eight<float> minus = eight::splat(q[j * G + g]);  // −q̃
            sum[g][0] = eight::madd(a, minus, sum[g][0]);
            sum[g][1] = eight::madd(b, minus, sum[g][1]);
        }
    }
    for (int g = 0; g < G; ++g) eight::store(out + g * P, sum[g][0]), eight::store(out + g * P + 8, sum[g][1]);
}

// One query's progress: its list and the largest product that may still enter it.
template <typename T, typename Sink> struct Seeker {
    Sink sink;
    const T* q;
    double norm2, slack, unit2;  // ‖q̃‖², err, unit²
    float bar;

    void rebar() {
        const double worst = double(sink.worst()) * unit2 * (1 + 1e-6);
        bar = std::nextafterf(float((worst - norm2) / 2 + slack), std::numeric_limits<float>::infinity());
    }
};

template <typename T, typename Sink> struct Job {
    const T *X, *Q;
    const float *blocks, *half;
    std::int64_t n;
    int d;

    // G queries against the blocks [b, e).
    void pass(Seeker<T, Sink>* who, int count, const float* minus, std::int64_t b, std::int64_t e) const {
        float out[G * P];
        for (std::int64_t block = b; block < e; ++block) {
            products(blocks + block * d * P, half + block * P, minus, d, out);
            for (int g = 0; g < count; ++g) {
                const Eight<float> bar = eight::splat(who[g].bar);
                unsigned hits = eight::at_most(eight::load(out + g * P), bar) |
                                eight::at_most(eight::load(out + g * P + 8), bar) << 8;
                if (!hits) continue;
                for (; hits; hits &= hits - 1) {
                    const std::int64_t at = block * P + __builtin_ctz(hits);
                    if (at < n) who[g].sink.offer(exact(X + at * d, who[g].q, d), std::int32_t(at));
                }
                who[g].rebar();
            }
        }
    }
};

template <typename T, typename Sink>
void run(const T* X, std::int64_t n, int d, const float* blocks, const float* half, const double* centre,
         double unit, float largest, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const kdtree::Ask& ask,
         T* distance, std::int64_t* index) {
    const Job<T, Sink> job{X, Q, blocks, half, n, d};
    const std::int64_t panels = (n + P - 1) / P, step = std::max<std::int64_t>(1, tile / P);
    Watch watch(ask.poll);
    parallel_for((m + group - 1) / group, ask.threads, [&](std::size_t task) {
        const std::int64_t first = task * group, count = std::min(group, m - first);
        std::vector<float> minus((count + G - 1) / G * G * d, 0.0f);  // (groups, d, G)
        std::vector<Seeker<T, Sink>> who;
        who.reserve(count);
        for (std::int64_t i = 0; i < count; ++i) {
            const T* q = Q + (first + i) * d;
            double norm2 = 0;
            for (int j = 0; j < d; ++j) {
                const float x = float(std::clamp((double(q[j]) - centre[j]) * unit, -1e15, 1e15));
                minus[i / G * G * d + j * G + i % G] = -x;
                norm2 += double(x) * x;
            }
            const double size = std::sqrt(norm2) + largest;
            who.push_back({Sink(k, skip ? skip[first + i] : -1), q, norm2, (d + 8) * 6e-8 * size * size, unit * unit, 0});
            who.back().rebar();
        }
        for (std::int64_t b = 0; b < panels; b += step) {
            watch();
            for (std::int64_t i = 0; i < count; i += G)
                job.pass(who.data() + i, int(std::min<std::int64_t>(G, count - i)), minus.data() + i * d, b,
                         std::min(panels, b + step));
        }
        for (std::int64_t i = 0; i < count; ++i)
            who[i].sink.finish([&](int r, T reduced, std::int32_t id) {
                distance[(first + i) * k + r] = std::sqrt(reduced);
                index[(first + i) * k + r] = id;
            });
    });
}

}  // namespace

template <typename T> Panel panel(const T* X, std::int64_t n, int d, const T* lo, const T* hi, int threads) {
    const std::int64_t count = (n + P - 1) / P;
    Panel out;
    out.blocks.assign(count * d * P, 0.0f);
    out.half.assign(count * P, std::numeric_limits<float>::infinity());
    double extent = 0;
    for (int j = 0; j < d; ++j) {
        out.centre.push_back(double(lo[j]) / 2 + double(hi[j]) / 2);
        extent = std::max(extent, double(hi[j]) - double(lo[j]));
    }
    out.unit = extent > 0 ? 1 / extent : 1;
    parallel_for((count + 1023) / 1024, threads, [&](std::size_t c) {
        const std::int64_t end = std::min(n, std::int64_t(c + 1) * 1024 * P);
        for (std::int64_t i = std::int64_t(c) * 1024 * P; i < end; ++i) {
            double norm2 = 0;
            for (int j = 0; j < d; ++j) {
                const float x = float((double(X[i * d + j]) - out.centre[j]) * out.unit);
                out.blocks[(i / P * d + j) * P + i % P] = x;
                norm2 += double(x) * x;
            }
            out.half[i] = float(norm2 / 2);
        }
    });
    float top = 0;
    for (std::int64_t i = 0; i < n; ++i) top = std::max(top, out.half[i]);
    out.largest = std::sqrt(2 * top) * (1 + 1e-6f);
    return out;
}

template <typename T>
void nearest(const T* X, std::int64_t n, int d, const float* blocks, const float* half, const double* centre,
             double unit, float largest, const T* Q, std::int64_t m, int k, const std::int32_t* skip,
             const kdtree::Ask& ask, T* distance, std::int64_t* index) {
    auto go = k <= kdtree::Few<T>::limit ? run<T, kdtree::Few<T>> : run<T, kdtree::Many<T>>;
    go(X, n, d, blocks, half, centre, unit, largest, Q, m, k, skip, ask, distance, index);
}

template Panel panel<float>(const float*, std::int64_t, int, const float*, const float*, int);
template Panel panel<double>(const double*, std::int64_t, int, const double*, const double*, int);
template void nearest<float>(const float*, std::int64_t, int, const float*, const float*, const double*, double, float,
                             const float*, std::int64_t, int, const std::int32_t*, const kdtree::Ask&, float*,
                             std::int64_t*);
template void nearest<double>(const double*, std::int64_t, int, const float*, const float*, const double*, double, float,
                              const double*, std::int64_t, int, const std::int32_t*, const kdtree::Ask&, double*,
                              std::int64_t*);

}  // namespace posteriori::brute
