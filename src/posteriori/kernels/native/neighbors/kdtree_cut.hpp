// Cutting the points of one bucket at medians of their widest dimension, by one thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "raw.hpp"

namespace posteriori::kdtree {

template <typename T> struct Item {
    T key;
    std::int32_t at;  // row in the bucket
};

// The nodes of one bucket, in preorder; leaves are numbered from zero.
template <typename T> struct Bucket {
    std::vector<std::int32_t> dim, right, leaf_count;
    std::vector<T> value, lo, hi;
};

// The box of n items: one pass for each `fixed` dimensions, of which the stride is a multiple.
template <typename T, int fixed>
void box_of(const T* rows, int stride, const Item<T>* items, std::int64_t n, T* lo, T* hi) {
    for (int j0 = 0; j0 < stride; j0 += fixed) {
        T l[fixed], h[fixed];
        for (int j = 0; j < fixed; ++j) l[j] = std::numeric_limits<T>::infinity(), h[j] = -l[j];
        for (std::int64_t i = 0; i < n; ++i) {
            const T* x = rows + std::int64_t(items[i].at) * stride + j0;
            for (int j = 0; j < fixed; ++j) {
                l[j] = x[j] < l[j] ? x[j] : l[j];
                h[j] = x[j] > h[j] ? x[j] : h[j];
            }
        }
        for (int j = 0; j < fixed; ++j) lo[j0 + j] = l[j], hi[j0 + j] = h[j];
    }
}

template <typename T>
void box_of(const T* rows, int stride, const Item<T>* items, std::int64_t n, T* lo, T* hi) {
    if (stride == 1) return box_of<T, 1>(rows, stride, items, n, lo, hi);
    if (stride == 2) return box_of<T, 2>(rows, stride, items, n, lo, hi);
    if (stride == 8) return box_of<T, 8>(rows, stride, items, n, lo, hi);
    box_of<T, 4>(rows, stride, items, n, lo, hi);
}

// An item as one register: what is stored in parts and loaded whole a moment later holds the processor up.
template <typename T> struct Register;
template <> struct Register<double> {
    typedef double Whole __attribute__((vector_size(16), aligned(8), may_alias));
};
template <> struct Register<float> {
    typedef std::int64_t Whole __attribute__((aligned(4), may_alias));
};
inline double key_of(Register<double>::Whole x) { return x[0]; }
inline float key_of(Register<float>::Whole x) {
    float key;
    std::memcpy(&key, &x, sizeof key);
    return key;
}

// Moves the items with key < cut (≤ cut) to the front without a branch; how many they are.
template <bool equal, typename T> std::int64_t sweep(Item<T>* a, std::int64_t n, T cut) {
    using Whole = typename Register<T>::Whole;
    static_assert(sizeof(Whole) == sizeof(Item<T>));
    auto* item = reinterpret_cast<Whole*>(a);
    std::int64_t front = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const Whole x = item[i];
        item[i] = item[front];
        item[front] = x;
        front += equal ? key_of(x) <= cut : key_of(x) < cut;
    }
    return front;
}

template <typename T> T middle(T a, T b, T c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

// A key near rank m of n > 200, from a sorted sample a little to the far side of m, so that most of the items are settled by
// the first sweep (Floyd and Rivest's idea); `low` and `high` are the extremes of what was looked at. Of fewer items the
// middle of three, or of three threes, found without a branch.
template <typename T> T pivot_of(const Item<T>* a, std::int64_t n, std::int64_t m, T& low, T& high) {
    if (n > 200) {
        T probe[32];
        const int probes = n > 1500 ? 32 : 16;
        for (int i = 0; i < probes; ++i) {
            const T key = a[(2 * i + 1) * n / (2 * probes)].key;
            int at = i;
            for (; at > 0 && probe[at - 1] > key; --at) probe[at] = probe[at - 1];
            probe[at] = key;
        }
        low = probe[0], high = probe[probes - 1];
        const int at = int(m * probes / n), margin = probes / 8;
        return probe[std::clamp(m * 2 < n ? at + margin : at - margin, 0, probes - 1)];
    }
    T third[3];
    const std::int64_t step = n / 9;
    for (int i = 0; i < 3; ++i) {
        const Item<T>* p = a + 3 * i * step;
        third[i] = n > 40 ? middle(p[0].key, p[step].key, p[2 * step].key) : p[step].key;
    }
    low = std::min(std::min(third[0], third[1]), third[2]), high = std::max(std::max(third[0], third[1]), third[2]);
    return middle(third[0], third[1], third[2]);
}

// Brings the item of rank m to its place, smaller keys before it, larger after. A pivot that is the least key is swept out
// with all its equals, so that repeated keys cost no more than others.
template <typename T> void select(Item<T>* a, std::int64_t n, std::int64_t m) {
    while (n > 12) {
        T low, high;
        const T pivot = pivot_of(a, n, m, low, high);
        std::int64_t front = sweep<false>(a, n, pivot);
        if (m < front) {
            n = front;
            continue;
        }
        a += front, n -= front, m -= front;
        if (front > 0 && low < high) continue;
        front = sweep<true>(a, n, pivot);
        if (m < front) return;
        a += front, n -= front, m -= front;
    }
    for (std::int64_t i = 1; i < n; ++i) {
        const Item<T> x = a[i];
        std::int64_t at = i;
        for (; at > 0 && a[at - 1].key > x.key; --at) a[at] = a[at - 1];
        a[at] = x;
    }
}

// Cuts the items into [0, cut) < value ≤ [cut, n) as near to rank m as repeated values let it.
template <typename T> std::int64_t cut_at(Item<T>* a, std::int64_t n, std::int64_t m, T& value) {
    select(a, n, m);
    value = a[m].key;
    T below = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < m; ++i) below = a[i].key > below ? a[i].key : below;
    if (below < value) return m;
    const std::int64_t less = sweep<false>(a, m, value);  // the value repeats across m: slide to one of its ends
    const std::int64_t most = m + sweep<true>(a + m, n - m, value);
    if (less > 0 && (most == n || m - less <= most - m)) return less;
    value = std::numeric_limits<T>::infinity();
    for (std::int64_t i = most; i < n; ++i) value = std::min(value, a[i].key);
    return most;
}

template <typename T> struct Cutter {
    int d, stride;
    std::int64_t leaf_size;

    // The subtree of `rows` in preorder; emit(items, n, equal) takes each leaf in order.
    template <typename Emit>
    void run(const T* rows, Raw<Item<T>>& items, Bucket<T>& out, Emit&& emit) const {
        struct Range {
            std::int64_t b, e;
            std::int32_t parent;  // whose right child this is, −1 for a left child or the root
        };
        std::vector<Range> todo{{0, std::int64_t(items.size()), -1}};
        std::vector<T> lo(stride), hi(stride);
        std::int32_t leaves = 0;
        while (!todo.empty()) {
            const Range r = todo.back();
            todo.pop_back();
            const auto node = std::int32_t(out.dim.size());
            if (r.parent >= 0) out.right[r.parent] = node;
            Item<T>* a = items.data() + r.b;
            const std::int64_t n = r.e - r.b;
            box_of(rows, stride, a, n, lo.data(), hi.data());
            out.lo.insert(out.lo.end(), lo.begin(), lo.begin() + d);
            out.hi.insert(out.hi.end(), hi.begin(), hi.begin() + d);
            int widest = 0;
            for (int j = 1; j < d; ++j)
                if (hi[j] - lo[j] > hi[widest] - lo[widest]) widest = j;
            const bool equal = !(hi[widest] > lo[widest]);
            if (n <= leaf_size || equal) {
                out.dim.push_back(-1), out.value.push_back(0), out.right.push_back(leaves++);
                emit(a, n, equal);
                continue;
            }
            for (std::int64_t i = 0; i < n; ++i) a[i].key = rows[std::int64_t(a[i].at) * stride + widest];
            // full leaves on the left: only the last leaf of a bucket has empty lanes
            const std::int64_t m = ((n + leaf_size - 1) / leaf_size / 2) * leaf_size;
            T value;
            const std::int64_t cut = r.b + cut_at(a, n, m, value);
            out.dim.push_back(widest), out.value.push_back(value), out.right.push_back(-1);
            todo.push_back({cut, r.e, node});
            todo.push_back({r.b, cut, -1});
        }
    }
};

template <typename T> void number(Raw<Item<T>>& items, std::int64_t n) {
    items.resize(n);
    for (std::int64_t i = 0; i < n; ++i) items[i] = {0, std::int32_t(i)};
}

}  // namespace posteriori::kdtree
