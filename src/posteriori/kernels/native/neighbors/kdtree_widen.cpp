// The wide nodes of a tree: three binary levels in one.
#include <algorithm>
#include <array>
#include <cmath>

#include "kdtree.hpp"
#include "threads.hpp"

namespace posteriori::kdtree {
namespace {

// One number rounded to float so that it is certainly not above (down) or below (up) the real one.
inline float outwards(double x, bool down) {
    const float inf = std::numeric_limits<float>::infinity();
    return std::nextafterf(float(x), down ? -inf : inf);
}

}  // namespace

// Filled from below, so that the many lowest nodes are full.
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

template void widen<float>(Tree<float>&, int, int);
template void widen<double>(Tree<double>&, int, int);

}  // namespace posteriori::kdtree
