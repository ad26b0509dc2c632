// Building the tree: a sample cuts space into buckets that fit the cache, the points are dealt to them in one pass, each
// bucket is cut at exact medians by one thread, and its points are moved into their leaves. What comes out does not depend
// on the number of threads.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "kdtree.hpp"
#include "kdtree_cut.hpp"
#include "threads.hpp"

namespace posteriori::kdtree {
namespace {

constexpr std::int64_t chunk = 1 << 13;  // rows of a task of a pass over the data

// Rows are padded to whole registers.
int stride_of(int d) { return d <= 2 ? d : (d + 3) / 4 * 4; }

// The upper levels, from a sample that is spread over the rows and scattered within its stretch of them.
template <typename T>
Bucket<T> cut_sample(const T* X, std::int64_t n, int d, T scale, std::int64_t buckets) {
    constexpr std::int64_t per_bucket = 16;
    const std::int64_t size = std::min(n, buckets * per_bucket);
    const int stride = stride_of(d);
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

constexpr std::int64_t ahead = 8;  // rows asked for before they are needed: they lie anywhere

struct Dealt {
    Raw<std::int32_t> ids;            // (n) rows, bucket by bucket
    std::vector<std::int64_t> start;  // (buckets + 1)
};

// Deals the rows to their buckets, in order within a bucket.
template <typename T>
Dealt deal(const T* X, std::int64_t n, int d, T scale, const Bucket<T>& top, std::int64_t buckets, int threads) {
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    const Route<T> route(top);
    Dealt out{Raw<std::int32_t>(n), std::vector<std::int64_t>(buckets + 1)};
    Raw<std::int32_t> home(n);
    std::vector<std::vector<std::int64_t>> place(chunks);
    parallel_for(chunks, threads, [&](std::size_t c) {
        place[c].assign(buckets, 0);
        const std::int64_t end = std::min(n, std::int64_t(c + 1) * chunk);
        for (std::int64_t i = c * chunk; i < end; i += W)
            route(X + i * d, int(std::min<std::int64_t>(W, end - i)), d, scale, home.data() + i);
        for (std::int64_t i = c * chunk; i < end; ++i) ++place[c][home[i] = top.right[home[i]]];
    });
    std::int64_t total = 0;
    for (std::int64_t b = 0; b < buckets; ++b) {
        out.start[b] = total;
        for (auto& p : place) total += std::exchange(p[b], total);
    }
    out.start[buckets] = total;
    parallel_for(chunks, threads, [&](std::size_t c) {
        for (std::int64_t i = c * chunk; i < std::min(n, std::int64_t(c + 1) * chunk); ++i)
            out.ids[place[c][home[i]]++] = std::int32_t(i);
    });
    return out;
}

// One bucket for all: nothing to deal.
Dealt all_together(std::int64_t n) {
    Dealt out{Raw<std::int32_t>(n), {0, n}};
    std::iota(out.ids.begin(), out.ids.end(), 0);
    return out;
}

// The subtrees of the buckets, whose ids come into the order of their leaves. The points of a bucket are brought together
// for it, where a cache holds them.
template <typename T>
std::vector<Bucket<T>> cut_buckets(const T* X, int d, T scale, int leaf_size, Dealt& dealt, int threads) {
    const int stride = stride_of(d);
    std::vector<Bucket<T>> parts(dealt.start.size() - 1);
    std::atomic<std::size_t> next{0};
    parallel_for(std::max(threads, 1), threads, [&](std::size_t) {
        Raw<Item<T>> items;
        Raw<T> rows;
        Raw<std::int32_t> by_row;
        for (std::size_t b; (b = next.fetch_add(1)) < parts.size();) {
            auto& part = parts[b];
            std::int32_t* ids = dealt.ids.data() + dealt.start[b];
            const std::int64_t count = dealt.start[b + 1] - dealt.start[b];
            by_row.assign(ids, ids + count);
            rows.resize(count * stride);
            for (std::int64_t i = 0; i < count; ++i) {
                if (i + ahead < count) __builtin_prefetch(X + std::int64_t(by_row[i + ahead]) * d);
                const T* x = X + std::int64_t(by_row[i]) * d;
                T* row = rows.data() + i * stride;
                for (int j = 0; j < d; ++j) row[j] = x[j] * scale;
                for (int j = d; j < stride; ++j) row[j] = 0;
            }
            number(items, count);
            Cutter<T>{d, stride, leaf_size}.run(rows.data(), items, part, [&](Item<T>* a, std::int64_t n, bool equal) {
                if (equal)  // a search takes the lowest ids of points that are all at one place: let them come first
                    std::sort(a, a + n, [](const Item<T>& x, const Item<T>& y) { return x.at < y.at; });
                part.leaf_count.push_back(std::int32_t(n));
                for (std::int64_t i = 0; i < n; ++i) *ids++ = by_row[a[i].at];
            });
        }
    });
    return parts;
}

// Writes the n points `from` of X·scale as blocks; there are `more` ids after them.
template <typename T>
void write_leaf(const T* X, int d, T scale, const std::int32_t* from, std::int64_t n, std::int64_t more, T* block,
                std::int32_t* ids) {
    for (; n > 0; n -= W, from += W, ids += W, block += W * d) {
        const int lanes = int(std::min<std::int64_t>(n, W));
        const T* x[W];
        for (int l = 0; l < W; ++l) {
            if (ahead + l < n + more) __builtin_prefetch(X + std::int64_t(from[ahead + l]) * d);
            ids[l] = l < lanes ? from[l] : nobody;
            x[l] = X + std::int64_t(from[l < lanes ? l : 0]) * d;
        }
        for (int j = 0; j < d; ++j)
            for (int l = 0; l < W; ++l) block[j * W + l] = x[l][j] * scale;
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
Tree<T> join(const T* X, int d, T scale, const Bucket<T>& top, const std::vector<Bucket<T>>& parts, const Dealt& dealt,
             int threads) {
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
        for (std::size_t l = 0; l < part.leaf_count.size(); ++l) {
            const std::int32_t n = part.leaf_count[l];
            tree.leaf_block[to.leaf + l] = std::int32_t(block);
            write_leaf(X, d, scale, dealt.ids.data() + first, n, dealt.start[b + 1] - first - n, tree.blocks.data() + block * W * d,
                       tree.ids.data() + block * W);
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

}  // namespace

template <typename T> bool bounds(const T* X, std::int64_t n, int d, T* lo, T* hi, int threads) {
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    constexpr T infinite = std::numeric_limits<T>::infinity();
    std::vector<T> low(chunks * d, infinite), high(chunks * d, -infinite);
    std::vector<char> finite(chunks);
    parallel_for(chunks, threads, [&](std::size_t c) {
        const int some = W * d;  // numbers at a time, whole rows, so that each place keeps its column
        const std::int64_t end = std::min(n, std::int64_t(c + 1) * chunk) * d;
        std::int64_t i = std::int64_t(c) * chunk * d;
        std::vector<T> least(some, infinite), most(some, -infinite), nothing(some, T(0));
        auto look = [&](const T* __restrict x, int count) {
            T* __restrict l = least.data();
            T* __restrict h = most.data();
            T* __restrict z = nothing.data();
            for (int j = 0; j < count; ++j) {
                l[j] = x[j] < l[j] ? x[j] : l[j];
                h[j] = x[j] > h[j] ? x[j] : h[j];
                z[j] += x[j] * 0;  // stays 0 while all is finite: inf·0 and NaN·0 are NaN
            }
        };
        for (; i + some <= end; i += some) look(X + i, some);
        look(X + i, int(end - i));
        finite[c] = std::all_of(nothing.begin(), nothing.end(), [](T z) { return z == 0; });
        for (int j = 0; j < some; ++j) {
            low[c * d + j % d] = std::min(low[c * d + j % d], least[j]);
            high[c * d + j % d] = std::max(high[c * d + j % d], most[j]);
        }
    });
    std::copy(low.begin(), low.begin() + d, lo);
    std::copy(high.begin(), high.begin() + d, hi);
    for (std::int64_t c = 1; c < chunks; ++c)
        for (int j = 0; j < d; ++j) lo[j] = std::min(lo[j], low[c * d + j]), hi[j] = std::max(hi[j], high[c * d + j]);
    return std::all_of(finite.begin(), finite.end(), [](char f) { return f != 0; });
}

template <typename T> Tree<T> build(const T* X, std::int64_t n, int d, T scale, int leaf_size, int threads) {
    // A level by the sample costs a fraction of a level by exact medians, but dealing to too many buckets leaves the cache.
    const std::int64_t bucket_points = std::clamp<std::int64_t>(n / 1024, 512, 2048);
    const std::int64_t buckets_wanted = std::max<std::int64_t>(1, n / std::max<std::int64_t>(bucket_points, 4 * leaf_size));
    const Bucket<T> top = cut_sample(X, n, d, scale, buckets_wanted > 1 ? buckets_wanted : 0);
    const std::int64_t buckets = std::count(top.dim.begin(), top.dim.end(), -1);
    const int helped = n < 4 * chunk ? 1 : threads;  // a thread is worth some tenths of a millisecond
    Dealt dealt = buckets == 1 ? all_together(n) : deal(X, n, d, scale, top, buckets, helped);
    const auto parts = cut_buckets(X, d, scale, leaf_size, dealt, threads);
    Tree<T> tree = join(X, d, scale, top, parts, dealt, helped);
    widen(tree, d, helped);
    return tree;
}

template bool bounds<float>(const float*, std::int64_t, int, float*, float*, int);
template bool bounds<double>(const double*, std::int64_t, int, double*, double*, int);
template Tree<float> build<float>(const float*, std::int64_t, int, float, int, int);
template Tree<double> build<double>(const double*, std::int64_t, int, double, int, int);

}  // namespace posteriori::kdtree
