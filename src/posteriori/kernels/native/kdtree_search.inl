// The searches for one float type, compiled once for each.
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

template <typename T, Metric M, int D>
void nearest_by(const View<T>& tree, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const Ask& ask,
                T* distance, std::int64_t* index) {
    each<T, M, D>(tree, Q, m, ask, [&](auto& walk, const T* q, std::int64_t i, std::int32_t home) {
        auto put = [&](int r, T reduced, std::int32_t id) {
            distance[i * k + r] = unreduced<M>(reduced);
            index[i * k + r] = id;
        };
        const std::int32_t self = skip ? skip[i] : -1;
        if (k <= Few<T>::limit) {
            Few<T> sink(k, self);
            walk.search(q, home, sink);
            sink.finish(put);
        } else {
            Many<T> sink(k, self);
            walk.search(q, home, sink);
            sink.finish(put);
        }
    });
}

template <typename T, int D> struct Euclidean {
    static void run(const View<T>& tree, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const Ask& ask,
                    T* distance, std::int64_t* index) {
        if (tree.d == D) return nearest_by<T, Metric::euclidean, D>(tree, Q, m, k, skip, ask, distance, index);
        Euclidean<T, D - 1>::run(tree, Q, m, k, skip, ask, distance, index);
    }
};
template <typename T> struct Euclidean<T, 0> {
    static void run(const View<T>& tree, const T* Q, std::int64_t m, int k, const std::int32_t* skip, const Ask& ask,
                    T* distance, std::int64_t* index) {
        nearest_by<T, Metric::euclidean, 0>(tree, Q, m, k, skip, ask, distance, index);
    }
};

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
    switch (ask.metric) {
        case Metric::euclidean: return Euclidean<T, 16>::run(tree, Q, m, k, skip, ask, distance, index);
        case Metric::manhattan: return nearest_by<T, Metric::manhattan, 0>(tree, Q, m, k, skip, ask, distance, index);
        case Metric::chebyshev: return nearest_by<T, Metric::chebyshev, 0>(tree, Q, m, k, skip, ask, distance, index);
        case Metric::minkowski: return nearest_by<T, Metric::minkowski, 0>(tree, Q, m, k, skip, ask, distance, index);
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
