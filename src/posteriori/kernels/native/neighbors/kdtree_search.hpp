// Searching the tree: one walk over the wide nodes, nearest box first; what is sought (the k nearest, all within a radius,
// their number) is a sink that says how far it still reaches. Distances are compared reduced: squared for the Euclidean
// metric, as they are for the others.
#pragma once
#include <algorithm>
#include <cmath>

#include "kdtree.hpp"
#include "eight.hpp"

namespace posteriori::kdtree {

using eight::Eight;

template <Metric M, typename T> inline T reduced(T distance) {
    return M == Metric::euclidean ? distance * distance : distance;
}
template <Metric M, typename T> inline T unreduced(T r) { return M == Metric::euclidean ? std::sqrt(r) : r; }

// What the inequality between the norms says of L_p: ‖g‖_p ≥ max(‖g‖_∞, c·‖g‖_2), c = d^min(0, 1/p − 1/2).
inline double norm_ratio(double p, int d) { return std::pow(double(d), std::min(0.0, 1 / p - 0.5)); }

// ‖x − q‖_p = m·(Σ (|x_j − q_j| / m)^p)^(1/p), m the largest difference: no power over- or underflows. x has stride W.
template <typename T> T minkowski(const T* x, const T* q, int d, double p) {
    double largest = 0;
    for (int j = 0; j < d; ++j) largest = std::max(largest, double(std::fabs(x[j * W] - q[j])));
    if (!(largest > 0)) return 0;
    double sum = 0;
    for (int j = 0; j < d; ++j) sum += std::pow(double(std::fabs(x[j * W] - q[j])) / largest, p);
    return T(largest * std::pow(sum, 1 / p));
}

// Reduced distances of the W points of a block; for L_p a lower bound. D is the dimension where it is known in advance.
template <typename T, Metric M, int D>
inline Eight<T> to_block(const T* __restrict block, const T* __restrict q, int d, T ratio) {
    const int dims = D ? D : d;
    Eight<T> sum = eight::splat(T(0)), top = sum;
    for (int j = 0; j < dims; ++j) {
        const Eight<T> gap = eight::load(block + j * W) - eight::splat(q[j]);
        if constexpr (M == Metric::euclidean || M == Metric::minkowski) sum = eight::madd(gap, gap, sum);
        if constexpr (M == Metric::manhattan) sum = sum + eight::abs(gap);
        if constexpr (M == Metric::chebyshev || M == Metric::minkowski) top = eight::max(top, eight::abs(gap));
    }
    if constexpr (M == Metric::chebyshev) return top;
    if constexpr (M == Metric::minkowski) {
        T s[W], t[W];
        eight::store(s, sum), eight::store(t, top);
        for (int l = 0; l < W; ++l) s[l] = std::max(t[l], ratio * std::sqrt(s[l])) * T(1 - 1e-6);
        return eight::load(s);
    }
    return sum;
}

template <typename T> struct Frame {
    float bound;
    std::int32_t child;
};

// One thread's room: the stack and the query in the boxes' units, rounded both ways.
template <typename T, Metric M, int D> struct Walk {
    const View<T>& tree;
    const double p;
    const T ratio;
    std::vector<float> low, high;
    std::vector<Frame<T>> stack;

    Walk(const View<T>& tree, double p)
        : tree(tree), p(p), ratio(T(M == Metric::minkowski ? norm_ratio(p, tree.d) : 0)), low(tree.d), high(tree.d) {
        stack.reserve(512);
    }

    // How far, in the boxes' units, a box may be whose points still matter.
    float reach(T worst) const {
        const double slack = 1 + (tree.d + 8) * 1.2e-7;
        const double unit = M == Metric::euclidean ? tree.unit * tree.unit : tree.unit;
        return std::nextafterf(float(double(worst) * unit * slack), std::numeric_limits<float>::infinity());
    }

    void enter(const T* q) {
        constexpr double far = 1e15;  // squares stay finite; a nearer query only lowers the bound
        const float inf = std::numeric_limits<float>::infinity();
        for (int j = 0; j < tree.d; ++j) {
            const double x = std::clamp((double(q[j]) - tree.centre[j]) * tree.unit, -far, far);
            low[j] = std::nextafterf(float(x), -inf);
            high[j] = std::nextafterf(float(x), inf);
        }
    }

    // Lower bounds of the reduced distance to the eight children of a wide node.
    Eight<float> bounds(const float* box) const {
        const int d = D ? D : tree.d;
        const Eight<float> zero = eight::splat(0.0f);
        Eight<float> sum = zero, top = zero;
        for (int j = 0; j < d; ++j) {
            const Eight<float> under = eight::load(box + j * W) - eight::splat(high[j]);
            const Eight<float> over = eight::splat(low[j]) - eight::load(box + (d + j) * W);
            const Eight<float> gap = eight::max(eight::max(under, over), zero);
            if constexpr (M == Metric::euclidean || M == Metric::minkowski) sum = eight::madd(gap, gap, sum);
            if constexpr (M == Metric::manhattan) sum = sum + gap;
            if constexpr (M == Metric::chebyshev || M == Metric::minkowski) top = eight::max(top, gap);
        }
        if constexpr (M == Metric::chebyshev) return top;
        if constexpr (M == Metric::minkowski) {
            float s[W], t[W];
            eight::store(s, sum), eight::store(t, top);
            for (int l = 0; l < W; ++l) s[l] = std::max(t[l], float(ratio) * std::sqrt(s[l])) * (1 - 1e-6f);
            return eight::load(s);
        }
        return sum;
    }

    template <typename Sink> void scan(std::int32_t leaf, const T* q, Sink& sink) const {
        const int d = D ? D : tree.d;
        std::int64_t block = tree.leaf_block[leaf], end = tree.leaf_block[leaf + 1];
        if (tree.leaf_count[leaf] > tree.leaf_size)  // all at one place, by id: the first ones are the nearest
            end = std::min<std::int64_t>(end, block + (sink.most() + W - 1) / W);
        constexpr int together = 8;
        T distance[together * W];
        for (; block < end; block += together) {
            const int blocks = int(std::min<std::int64_t>(together, end - block));
            const T* points = tree.blocks + block * d * W;
            const std::int32_t* ids = tree.ids + block * W;
            const Eight<T> worst = eight::splat(sink.worst());
            std::uint64_t hits = 0;
            for (int b = 0; b < blocks; ++b) {
                const Eight<T> r = to_block<T, M, D>(points + std::int64_t(b) * d * W, q, d, ratio);
                eight::store(distance + b * W, r);
                hits |= std::uint64_t(eight::at_most(r, worst)) << (b * W);
            }
            for (; hits; hits &= hits - 1) {
                const int i = __builtin_ctzll(hits);
                T r = distance[i];
                if constexpr (M == Metric::minkowski) {
                    if (ids[i] == nobody) continue;
                    r = minkowski(points + std::int64_t(i / W) * d * W + i % W, q, d, p);
                }
                sink.offer(r, ids[i]);
            }
        }
    }

    template <typename Sink> void search(const T* q, std::int32_t home, Sink& sink) {
        if (home >= 0) scan(home, q, sink);
        if (tree.wide == 0) {
            if (home < 0) scan(0, q, sink);
            return;
        }
        enter(q);
        float limit = reach(sink.worst());
        stack.clear();
        stack.push_back({0.0f, 0});
        while (!stack.empty()) {
            const Frame<T> frame = stack.back();
            stack.pop_back();
            if (frame.bound > limit) continue;
            if (frame.child < 0) {
                if (~frame.child == home) continue;
                scan(~frame.child, q, sink);
                limit = reach(sink.worst());
                continue;
            }
            open(frame.child, limit);
        }
    }

    // Puts the children within the limit on the stack, the nearest on top.
    void open(std::int32_t node, float limit) {
        const int d = D ? D : tree.d;
        const Eight<float> r = bounds(tree.wide_box + std::int64_t(node) * 2 * d * W);
        const std::int32_t* child = tree.wide_child + std::int64_t(node) * W;
        float bound[W];
        eight::store(bound, r);
        const std::size_t base = stack.size();
        for (unsigned hits = eight::at_most(r, eight::splat(limit)); hits; hits &= hits - 1) {
            const int c = __builtin_ctz(hits);
            if (child[c] == nobody) break;  // children come first, empty places last
            stack.push_back({bound[c], child[c]});
            std::size_t i = stack.size() - 1;
            for (; i > base && stack[i - 1].bound < bound[c]; --i) stack[i] = stack[i - 1];
            stack[i] = {bound[c], child[c]};
        }
    }
};

// The k nearest, k small: a sorted list.
template <typename T> struct Few {
    static constexpr int limit = 64;
    int k;
    std::int32_t skip;
    T distance[limit];
    std::int32_t id[limit];

    Few(int k, std::int32_t skip) : k(k), skip(skip) {
        std::fill_n(distance, k, std::numeric_limits<T>::infinity());
        std::fill_n(id, k, nobody);
    }
    T worst() const { return distance[k - 1]; }
    std::int64_t most() const { return k + 1; }
    void offer(T r, std::int32_t who) {
        if (r > distance[k - 1] || (r == distance[k - 1] && who > id[k - 1]) || who == skip) return;
        int i = k - 1;
        for (; i > 0 && (distance[i - 1] > r || (distance[i - 1] == r && id[i - 1] > who)); --i)
            distance[i] = distance[i - 1], id[i] = id[i - 1];
        distance[i] = r, id[i] = who;
    }
    template <typename Put> void finish(Put&& put) {
        for (int i = 0; i < k; ++i) put(i, distance[i], id[i]);
    }
};

// The k nearest, k large: candidates pile up and are cut back to the best k when there are twice as many.
template <typename T> struct Many {
    struct One {
        T r;
        std::int32_t id;
        bool operator<(const One& o) const { return r < o.r || (r == o.r && id < o.id); }
    };
    std::size_t k;
    std::int32_t skip;
    T bar = std::numeric_limits<T>::infinity();
    std::vector<One> pile;

    Many(int k, std::int32_t skip) : k(k), skip(skip) { pile.reserve(2 * k + 64); }
    T worst() const { return bar; }
    std::int64_t most() const { return std::int64_t(k) + 1; }
    void offer(T r, std::int32_t who) {
        if (r > bar || who == skip || who == nobody) return;
        pile.push_back({r, who});
        if (pile.size() >= 2 * k + 64) cut();
    }
    void cut() {
        std::nth_element(pile.begin(), pile.begin() + (k - 1), pile.end());
        pile.resize(k);
        bar = pile[k - 1].r;
    }
    template <typename Put> void finish(Put&& put) {
        if (pile.size() > k) cut();
        std::sort(pile.begin(), pile.end());
        pile.resize(k, {std::numeric_limits<T>::infinity(), nobody});  // fewer points than were asked for
        for (std::size_t i = 0; i < k; ++i) put(int(i), pile[i].r, pile[i].id);
    }
};

// All within a radius, or only their number. A point belongs where its distance, as it is returned, is at most the radius.
template <typename T, Metric M> struct Ball {
    T radius, bar;
    std::int64_t count = 0;
    std::vector<std::int32_t>* found;
    std::vector<T>* far;

    Ball(T radius, std::vector<std::int32_t>* found, std::vector<T>* far)
        : radius(radius), bar(reduced<M>(radius) * (1 + 4 * std::numeric_limits<T>::epsilon())), found(found), far(far) {}
    T worst() const { return bar; }
    std::int64_t most() const { return std::numeric_limits<std::int32_t>::max(); }
    void offer(T r, std::int32_t who) {
        const T distance = unreduced<M>(r);
        if (distance > radius || who == nobody) return;
        ++count;
        if (found) found->push_back(who), far->push_back(distance);
    }
};

template <typename T> std::int32_t home_of(const View<T>& tree, const T* q) {
    std::int32_t node = 0;
    for (std::int32_t j; (j = tree.dim[node]) >= 0;) node = q[j] < tree.value[node] ? node + 1 : tree.right[node];
    return tree.right[node];
}

}  // namespace posteriori::kdtree
