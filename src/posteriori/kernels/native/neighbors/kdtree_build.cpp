// Building the tree: a sample cuts space into buckets that fit the cache, the points are dealt to them in one pass, each
// bucket is cut at exact medians by one thread, and its points are moved into their leaves. What comes out does not depend
// on the number of threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kdtree.hpp"
#include "threads.hpp"

namespace posteriori::kdtree {
namespace {

constexpr std::int64_t chunk = 1 << 16;  // rows of a task of a pass over the data

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
typedef double Sixteen __attribute__((vector_size(16), aligned(8), may_alias));
typedef std::int64_t Eight __attribute__((aligned(4), may_alias));
inline double key_of(Sixteen x) { return x[0]; }
inline float key_of(Eight x) {
    float key;
    std::memcpy(&key, &x, sizeof key);
    return key;
}

// Moves the items with key < cut (≤ cut) to the front without a branch; how many they are.
template <bool equal, typename T> std::int64_t sweep(Item<T>* a, std::int64_t n, T cut) {
    using Whole = std::conditional_t<sizeof(Item<T>) == 8, Eight, Sixteen>;
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

// Brings the item of rank m to its place, smaller keys before it, larger after. The pivot is taken from a sorted sample a
// little to the far side of m, so that most of the items are settled by the first sweep (Floyd and Rivest's idea). A pivot
// that is the least key is swept out with all its equals, so that repeated keys cost no more than others.
template <typename T> void select(Item<T>* a, std::int64_t n, std::int64_t m) {
    auto by_key = [](const Item<T>& x, const Item<T>& y) { return x.key < y.key; };
    while (n > 40) {
        T probe[32];
        const int probes = n > 1500 ? 32 : n > 200 ? 16 : 8;
        for (int i = 0; i < probes; ++i) {
            const T key = a[(2 * i + 1) * n / (2 * probes)].key;
            int at = i;
            for (; at > 0 && probe[at - 1] > key; --at) probe[at] = probe[at - 1];
            probe[at] = key;
        }
        const int at = int(m * probes / n), margin = probes / 8;
        const T pivot = probe[std::clamp(m * 2 < n ? at + margin : at - margin, 0, probes - 1)];
        std::int64_t front = sweep<false>(a, n, pivot);
        if (m < front) {
            n = front;
            continue;
        }
        a += front, n -= front, m -= front;
        if (front > 0 && probe[0] < probe[probes - 1]) continue;
        front = sweep<true>(a, n, pivot);
        if (m < front) return;
        a += front, n -= front, m -= front;
    }
    std::nth_element(a, a + m, a + n, by_key);
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

// The upper levels, from a sample that is spread over the rows and scattered within its stretch of them.
template <typename T>
Bucket<T> cut_sample(const T* X, std::int64_t n, int d, int stride, T scale, std::int64_t buckets) {
    constexpr std::int64_t per_bucket = 16;
    const std::int64_t size = std::min(n, buckets * per_bucket);
    std::vector<T> rows(size * stride, T(0));
    std::uint64_t noise = 0x9E3779B97F4A7C15u;
    for (std::int64_t i = 0; i < size; ++i) {
        noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
        const std::int64_t first = i * n / size, next = (i + 1) * n / size;
        const T* x = X + (first + std::int64_t(noise % std::uint64_t(next - first))) * d;
        for (int j = 0; j < d; ++j) rows[i * stride + j] = x[j] * scale;
    }
    Bucket<T> top;
    Raw<Item<T>> items;
    number(items, size);
    Cutter<T>{d, stride, per_bucket}.run(rows.data(), items, top, [](Item<T>*, std::int64_t, bool) {});
    return top;
}

// The sample's tree for routing: a step is two loads and no branch; a leaf leads to itself, so all points take `depth`.
template <typename T> struct Route {
    struct Step {
        T value;
        std::int32_t dim, next[2];
    };
    std::vector<Step> steps;
    int depth = 0;

    explicit Route(const Bucket<T>& top) : steps(top.dim.size()) {
        std::vector<int> level(steps.size());
        for (std::int32_t v = 0; v < std::int32_t(steps.size()); ++v) {
            depth = std::max(depth, level[v]);
            const bool leaf = top.dim[v] < 0;
            steps[v] = {top.value[v], leaf ? 0 : top.dim[v], {leaf ? v : top.right[v], leaf ? v : v + 1}};
            if (!leaf) level[v + 1] = level[top.right[v]] = level[v] + 1;
        }
    }
    // The leaves of n ≤ W rows, taken down together: one row's steps wait for each other, eight rows' do not.
    void operator()(const T* X, int n, int d, T scale, std::int32_t* leaf) const {
        std::int32_t v[W] = {};
        for (int i = 0; i < depth; ++i)
            for (int l = 0; l < n; ++l) {
                const Step& step = steps[v[l]];
                v[l] = step.next[X[l * d + step.dim] * scale < step.value];
            }
        std::copy(v, v + n, leaf);
    }
};

template <typename T> struct Dealt {
    int stride;
    Raw<T> rows;                      // (n, stride) points, bucket by bucket
    Raw<std::int32_t> ids;            // (n) their rows
    Raw<std::int32_t> order;          // (n) places within the bucket, leaf by leaf
    std::vector<std::int64_t> start;  // (buckets + 1)
};

// Deals the points to their buckets, in row order within a bucket.
template <typename T>
Dealt<T> deal(const T* X, std::int64_t n, int d, int stride, T scale, const Bucket<T>& top, std::int64_t buckets,
              int threads) {
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    const Route<T> route(top);
    Dealt<T> out{stride, Raw<T>(n * stride), Raw<std::int32_t>(n), Raw<std::int32_t>(n), {}};
    std::int32_t* home = out.order.data();  // until each bucket has its order
    std::vector<std::vector<std::int64_t>> place(chunks);
    parallel_for(chunks, threads, [&](std::size_t c) {
        place[c].assign(buckets, 0);
        const std::int64_t end = std::min(n, std::int64_t(c + 1) * chunk);
        for (std::int64_t i = c * chunk; i < end; i += W)
            route(X + i * d, int(std::min<std::int64_t>(W, end - i)), d, scale, home + i);
        for (std::int64_t i = c * chunk; i < end; ++i) ++place[c][home[i] = top.right[home[i]]];
    });
    out.start.resize(buckets + 1);
    std::int64_t total = 0;
    for (std::int64_t b = 0; b < buckets; ++b) {
        out.start[b] = total;
        for (auto& p : place) total += std::exchange(p[b], total);
    }
    out.start[buckets] = total;
    parallel_for(chunks, threads, [&](std::size_t c) {
        for (std::int64_t i = c * chunk; i < std::min(n, std::int64_t(c + 1) * chunk); ++i) {
            const std::int64_t to = place[c][home[i]]++;
            T* row = out.rows.data() + to * stride;
            for (int j = 0; j < d; ++j) row[j] = X[i * d + j] * scale;
            for (int j = d; j < stride; ++j) row[j] = 0;
            out.ids[to] = std::int32_t(i);
        }
    });
    return out;
}

// The subtrees of the buckets, whose points come into the order of their leaves.
template <typename T> std::vector<Bucket<T>> cut_buckets(int d, int leaf_size, Dealt<T>& dealt, int threads) {
    std::vector<Bucket<T>> parts(dealt.start.size() - 1);
    std::atomic<std::size_t> next{0};
    parallel_for(std::max(threads, 1), threads, [&](std::size_t) {
        Raw<Item<T>> items;
        for (std::size_t b; (b = next.fetch_add(1)) < parts.size();) {
            auto& part = parts[b];
            number(items, dealt.start[b + 1] - dealt.start[b]);
            std::int32_t* order = dealt.order.data() + dealt.start[b];
            const T* rows = dealt.rows.data() + dealt.start[b] * dealt.stride;
            Cutter<T>{d, dealt.stride, leaf_size}.run(rows, items, part, [&](Item<T>* a, std::int64_t n, bool equal) {
                if (equal)  // a search takes the lowest ids of points that are all at one place: let them come first
                    std::sort(a, a + n, [](const Item<T>& x, const Item<T>& y) { return x.at < y.at; });
                part.leaf_count.push_back(std::int32_t(n));
                for (std::int64_t i = 0; i < n; ++i) *order++ = a[i].at;
            });
        }
    });
    return parts;
}

// Writes n points as blocks; `at` are their places among the rows.
template <typename T>
void write_leaf(const T* rows, int stride, int d, const std::int32_t* row_ids, const std::int32_t* at, std::int64_t n,
                T* block, std::int32_t* ids) {
    for (; n > 0; n -= W, at += W, ids += W, block += W * d) {
        const int lanes = int(std::min<std::int64_t>(n, W));
        const T* x[W];
        for (int l = 0; l < W; ++l) {
            ids[l] = l < lanes ? row_ids[at[l]] : nobody;
            x[l] = rows + std::int64_t(at[l < lanes ? l : 0]) * stride;
        }
        for (int j = 0; j < d; ++j)
            for (int l = 0; l < W; ++l) block[j * W + l] = x[l][j];
        if (lanes < W)
            for (int j = 0; j < d; ++j)
                for (int l = lanes; l < W; ++l) block[j * W + l] = std::numeric_limits<T>::infinity();
    }
}

// Where each bucket's nodes, leaves and blocks begin in the whole tree.
struct Place {
    std::int64_t node = 0, leaf = 0, block = 0;
};

// Joins the buckets' subtrees under the nodes of the sample's tree, in preorder, and fills their leaves.
template <typename T>
Tree<T> join(int d, const Bucket<T>& top, const std::vector<Bucket<T>>& parts, const Dealt<T>& dealt, int threads) {
    std::vector<std::int32_t> moved(top.dim.size());  // where a node of the top goes
    std::vector<Place> place(parts.size());
    Place total;
    for (std::size_t v = 0; v < top.dim.size(); ++v) {
        moved[v] = std::int32_t(total.node);
        if (top.dim[v] >= 0) {
            ++total.node;
            continue;
        }
        const auto& part = parts[top.right[v]];
        place[top.right[v]] = total;
        total.node += std::int64_t(part.dim.size());
        total.leaf += std::int64_t(part.leaf_count.size());
        for (std::int32_t count : part.leaf_count) total.block += (count + W - 1) / W;
    }
    Tree<T> tree;
    tree.dim.resize(total.node), tree.value.resize(total.node), tree.right.resize(total.node);
    tree.lo.resize(total.node * d), tree.hi.resize(total.node * d);
    tree.leaf_block.resize(total.leaf + 1), tree.leaf_count.resize(total.leaf);
    tree.blocks.resize(total.block * W * d), tree.ids.resize(total.block * W);
    tree.leaf_block[total.leaf] = std::int32_t(total.block);
    for (std::size_t v = 0; v < top.dim.size(); ++v) {
        if (top.dim[v] < 0) continue;
        tree.dim[moved[v]] = top.dim[v];
        tree.value[moved[v]] = top.value[v];
        tree.right[moved[v]] = moved[top.right[v]];
    }
    parallel_for(parts.size(), threads, [&](std::size_t b) {
        const auto& part = parts[b];
        const Place& to = place[b];
        std::copy(part.dim.begin(), part.dim.end(), tree.dim.begin() + to.node);
        std::copy(part.value.begin(), part.value.end(), tree.value.begin() + to.node);
        std::copy(part.lo.begin(), part.lo.end(), tree.lo.begin() + to.node * d);
        std::copy(part.hi.begin(), part.hi.end(), tree.hi.begin() + to.node * d);
        std::copy(part.leaf_count.begin(), part.leaf_count.end(), tree.leaf_count.begin() + to.leaf);
        for (std::size_t v = 0; v < part.dim.size(); ++v)
            tree.right[to.node + v] = std::int32_t(part.right[v] + (part.dim[v] < 0 ? to.leaf : to.node));
        std::int64_t first = dealt.start[b], block = to.block;
        const std::int64_t begin = first;
        for (std::size_t l = 0; l < part.leaf_count.size(); ++l) {
            const std::int32_t n = part.leaf_count[l];
            tree.leaf_block[to.leaf + l] = std::int32_t(block);
            write_leaf(dealt.rows.data() + begin * dealt.stride, dealt.stride, d, dealt.ids.data() + begin,
                       dealt.order.data() + first, n, tree.blocks.data() + block * W * d, tree.ids.data() + block * W);
            first += n, block += (n + W - 1) / W;
        }
    });
    for (std::size_t v = top.dim.size(); v-- > 0;) {  // the boxes of the top, from below
        if (top.dim[v] < 0) continue;
        const std::int64_t node = moved[v], left = node + 1, right = tree.right[node];
        for (int j = 0; j < d; ++j) {
            tree.lo[node * d + j] = std::min(tree.lo[left * d + j], tree.lo[right * d + j]);
            tree.hi[node * d + j] = std::max(tree.hi[left * d + j], tree.hi[right * d + j]);
        }
    }
    return tree;
}

// One number rounded to float so that it is certainly not above (down) or below (up) the real one.
inline float outwards(double x, bool down) {
    const float inf = std::numeric_limits<float>::infinity();
    return std::nextafterf(float(x), down ? -inf : inf);
}

// The wide nodes: three binary levels in one, filled from below so that the many lowest nodes are full.
template <typename T> void widen(Tree<T>& tree, int d, int threads) {
    const std::int64_t nodes = std::int64_t(tree.dim.size());
    double extent = 0;
    tree.centre.resize(d);
    for (int j = 0; j < d; ++j) {
        tree.centre[j] = double(tree.lo[j]) / 2 + double(tree.hi[j]) / 2;
        extent = std::max(extent, double(tree.hi[j]) - double(tree.lo[j]));
    }
    tree.unit = extent > 0 ? 1 / extent : 1;
    std::vector<std::int32_t> below(nodes);  // leaves under a node
    for (std::int64_t v = nodes; v-- > 0;)
        below[v] = tree.dim[v] < 0 ? 1 : below[v + 1] + below[tree.right[v]];
    if (nodes == 1) return;
    std::vector<std::int32_t> roots{0};              // the binary node each wide node stands for
    std::vector<std::array<std::int32_t, W>> under;  // the binary nodes of its children, −1 where there is none
    for (std::size_t w = 0; w < roots.size(); ++w) {
        std::int64_t most = 1;  // leaves that a child may have
        while (most * W < below[roots[w]]) most *= W;
        std::int32_t open[W + 1] = {roots[w]};
        int count = 0, waiting = 1;
        std::array<std::int32_t, W> child;
        child.fill(-1);
        while (waiting > 0) {
            const std::int32_t v = open[--waiting];
            const bool room = count + waiting + 2 <= W;
            if (tree.dim[v] >= 0 && (v == roots[w] || (below[v] > most && room))) {
                open[waiting++] = tree.right[v];
                open[waiting++] = v + 1;
            } else {
                child[count++] = v;
            }
        }
        for (int c = 0; c < W; ++c) {
            const std::int32_t v = child[c];
            const bool inner = v >= 0 && tree.dim[v] >= 0;
            tree.wide_child.push_back(v < 0 ? nobody : inner ? std::int32_t(roots.size()) : ~tree.right[v]);
            if (inner) roots.push_back(v);
        }
        under.push_back(child);
    }
    tree.wide_box.resize(under.size() * 2 * d * W);
    parallel_for((under.size() + 63) / 64, threads, [&](std::size_t task) {
        for (std::size_t w = task * 64; w < std::min(under.size(), (task + 1) * 64); ++w) {
            float* box = tree.wide_box.data() + w * 2 * d * W;
            std::fill_n(box, 2 * d * W, 0.0f);
            for (int c = 0; c < W && under[w][c] >= 0; ++c) {
                const std::int64_t v = under[w][c];
                for (int j = 0; j < d; ++j) {
                    box[j * W + c] = outwards((double(tree.lo[v * d + j]) - tree.centre[j]) * tree.unit, true);
                    box[(d + j) * W + c] = outwards((double(tree.hi[v * d + j]) - tree.centre[j]) * tree.unit, false);
                }
            }
        }
    });
}

}  // namespace

template <typename T> bool bounds(const T* X, std::int64_t n, int d, T* lo, T* hi, int threads) {
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    std::vector<T> low(chunks * d, std::numeric_limits<T>::infinity()), high(chunks * d, -low[0]);
    std::vector<char> finite(chunks);
    parallel_for(chunks, threads, [&](std::size_t c) {
        T* l = low.data() + c * d;
        T* h = high.data() + c * d;
        T nothing = 0;  // stays 0 while all is finite: inf·0 and NaN·0 are NaN
        const std::int64_t end = std::min(n, std::int64_t(c + 1) * chunk);
        for (std::int64_t i = c * chunk; i < end; ++i)
            for (int j = 0; j < d; ++j) {
                const T x = X[i * d + j];
                l[j] = x < l[j] ? x : l[j];
                h[j] = x > h[j] ? x : h[j];
                nothing += x * 0;
            }
        finite[c] = nothing == 0;
    });
    std::copy(low.begin(), low.begin() + d, lo);
    std::copy(high.begin(), high.begin() + d, hi);
    for (std::int64_t c = 1; c < chunks; ++c)
        for (int j = 0; j < d; ++j) lo[j] = std::min(lo[j], low[c * d + j]), hi[j] = std::max(hi[j], high[c * d + j]);
    return std::all_of(finite.begin(), finite.end(), [](char f) { return f != 0; });
}

template <typename T> Tree<T> build(const T* X, std::int64_t n, int d, T scale, int leaf_size, int threads) {
    const int stride = d <= 2 ? d : (d + 3) / 4 * 4;
    // A level by the sample costs a fraction of a level by exact medians, but dealing to too many buckets leaves the cache.
    const std::int64_t bucket_points = std::clamp<std::int64_t>(n / 1024, 512, 2048);
    const std::int64_t buckets_wanted = std::max<std::int64_t>(1, n / std::max<std::int64_t>(bucket_points, 4 * leaf_size));
    const Bucket<T> top = cut_sample(X, n, d, stride, scale, buckets_wanted > 1 ? buckets_wanted : 0);
    const std::int64_t buckets = std::count(top.dim.begin(), top.dim.end(), -1);
    Dealt<T> dealt = deal(X, n, d, stride, scale, top, buckets, threads);
    const auto parts = cut_buckets(d, leaf_size, dealt, threads);
    Tree<T> tree = join(d, top, parts, dealt, threads);
    widen(tree, d, threads);
    return tree;
}

template bool bounds<float>(const float*, std::int64_t, int, float*, float*, int);
template bool bounds<double>(const double*, std::int64_t, int, double*, double*, int);
template Tree<float> build<float>(const float*, std::int64_t, int, float, int, int);
template Tree<double> build<double>(const double*, std::int64_t, int, double, int, int);

}  // namespace posteriori::kdtree
