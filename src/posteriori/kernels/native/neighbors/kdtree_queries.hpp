// The searches for one float type, compiled once for each.
#pragma once
#include "kdtree_search.hpp"
#include "threads.hpp"

namespace posteriori::kdtree {
namespace {

constexpr std::int64_t together = 64;  // queries of a task

// The queries leaf by leaf, so that those that follow each other read the same part of the tree.
template <typename T> struct Order {
    std::vector<std::int32_t> home, at;

    Order(const View<T>& tree, const T* Q, std::int64_t m, int threads) : home(m), at(m) {
        parallel_for((m + 1023) / 1024, threads, [&](std::size_t c) {
            for (std::int64_t i = c * 1024; i < std::min(m, std::int64_t(c + 1) * 1024); ++i)
                home[i] = home_of(tree, Q + i * tree.d);
        });
        std::vector<std::int32_t> start(tree.leaves + 1);
        for (std::int64_t i = 0; i < m; ++i) ++start[home[i] + 1];
        for (std::int64_t l = 0; l < tree.leaves; ++l) start[l + 1] += start[l];
        for (std::int64_t i = 0; i < m; ++i) at[start[home[i]]++] = std::int32_t(i);
    }
};

template <typename T, Metric M, int D, typename Work>
void each(const View<T>& tree, const T* Q, std::int64_t m, const Ask& ask, Work&& work) {
    const Order<T> order(tree, Q, m, ask.threads);
    Watch watch(ask.poll);
    parallel_for((m + together - 1) / together, ask.threads, [&](std::size_t task) {
        watch();
        Walk<T, M, D> walk(tree, ask.p);
        for (std::int64_t i = task * together; i < std::min(m, std::int64_t(task + 1) * together); ++i) {
            const std::int64_t query = order.at[i];
            work(walk, Q + query * tree.d, query, order.home[query]);
        }
    });
}

template <typename T> struct Wanted {
    int k;
    const std::int32_t* skip;
    T* distance;
    std::int64_t* index;
};

template <typename T, Metric M, int D, typename Sink>
void nearest_by(const View<T>& tree, const T* Q, std::int64_t m, const Ask& ask, const Wanted<T>& want) {
    each<T, M, D>(tree, Q, m, ask, [&](auto& walk, const T* q, std::int64_t i, std::int32_t home) {
        Sink sink(want.k, want.skip ? want.skip[i] : -1);
        walk.search(q, home, sink);
        sink.finish([&](int r, T reduced, std::int32_t id) {
            want.distance[i * want.k + r] = unreduced<M>(reduced);
            want.index[i * want.k + r] = id;
        });
    });
}

// The dimension known in advance, where that is worth its machine code: only where k is small, else the list costs more
// than the distances.
template <typename T>
void euclidean(const View<T>& tree, const T* Q, std::int64_t m, const Ask& ask, const Wanted<T>& want) {
    constexpr Metric M = Metric::euclidean;
    switch (tree.d) {
        case 2: return nearest_by<T, M, 2, Few<T>>(tree, Q, m, ask, want);
        case 3: return nearest_by<T, M, 3, Few<T>>(tree, Q, m, ask, want);
        default: return nearest_by<T, M, 0, Few<T>>(tree, Q, m, ask, want);
    }
}

template <typename T, Metric M>
void nearest_any(const View<T>& tree, const T* Q, std::int64_t m, const Ask& ask, const Wanted<T>& want) {
    if (want.k > Few<T>::limit) return nearest_by<T, M, 0, Many<T>>(tree, Q, m, ask, want);
    if constexpr (M == Metric::euclidean) return euclidean<T>(tree, Q, m, ask, want);
    else nearest_by<T, M, 0, Few<T>>(tree, Q, m, ask, want);
}

template <typename T, Metric M>
void within_by(const View<T>& tree, const T* Q, std::int64_t m, const T* radius, const Ask& ask, std::int64_t* count,
               std::vector<std::vector<std::int32_t>>* found, std::vector<std::vector<T>>* far) {
    each<T, M, 0>(tree, Q, m, ask, [&](auto& walk, const T* q, std::int64_t i, std::int32_t home) {
        Ball<T, M> ball(radius[i], found ? &(*found)[i] : nullptr, far ? &(*far)[i] : nullptr);
        if (radius[i] >= 0) walk.search(q, home, ball);
        count[i] = ball.count;
    });
}

}  // namespace

template <typename T>
void nearest(const View<T>& tree, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const Ask& ask, T* distance,
             std::int64_t* index) {
    const Wanted<T> want{k, skip, distance, index};
    switch (ask.metric) {
        case Metric::euclidean: return nearest_any<T, Metric::euclidean>(tree, Q, m, ask, want);
        case Metric::manhattan: return nearest_any<T, Metric::manhattan>(tree, Q, m, ask, want);
        case Metric::chebyshev: return nearest_any<T, Metric::chebyshev>(tree, Q, m, ask, want);
        case Metric::minkowski: return nearest_any<T, Metric::minkowski>(tree, Q, m, ask, want);
    }
}

template <typename T>
void within(const View<T>& tree, const T* Q, std::int64_t m, const T* radius, const Ask& ask, std::int64_t* count,
            std::vector<std::vector<std::int32_t>>* found, std::vector<std::vector<T>>* far) {
    switch (ask.metric) {
        case Metric::euclidean: return within_by<T, Metric::euclidean>(tree, Q, m, radius, ask, count, found, far);
        case Metric::manhattan: return within_by<T, Metric::manhattan>(tree, Q, m, radius, ask, count, found, far);
        case Metric::chebyshev: return within_by<T, Metric::chebyshev>(tree, Q, m, radius, ask, count, found, far);
        case Metric::minkowski: return within_by<T, Metric::minkowski>(tree, Q, m, radius, ask, count, found, far);
    }
}

}  // namespace posteriori::kdtree
