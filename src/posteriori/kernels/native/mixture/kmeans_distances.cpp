// What k-means reads once: rows as panels, distances to told centres, and what candidates for a centre would leave.
#include "kmeans_near.hpp"
#include "threads.hpp"

namespace posteriori::kmeans {
namespace {

constexpr std::size_t TASK = 4096;  // rows

}  // namespace

template <typename T> void fill_panels(const Rows<T>& rows, float* out, int threads) {
    parallel_for((rows.n + TASK - 1) / TASK, threads, [&](std::size_t t) {
        const std::size_t end = std::min(rows.n, (t + 1) * TASK);
        for (std::size_t at = t * TASK; at < end; at += GROUP)
            fill_panel(rows, [at](std::size_t i) { return at + i; }, std::min(GROUP, end - at), out + at * (rows.d + 1));
    });
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

#define POSTERIORI_KMEANS(T)                                                                       \
    template void fill_panels<T>(const Rows<T>&, float*, int);                                     \
    template void distances<T>(const Rows<T>&, const Centres&, const std::int32_t*, double*, int); \
    template void candidates<T>(const Rows<T>&, const std::int64_t*, std::size_t, const double*, double*, int);
POSTERIORI_KMEANS(float)
POSTERIORI_KMEANS(double)
#undef POSTERIORI_KMEANS

}  // namespace posteriori::kmeans
