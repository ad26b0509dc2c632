// Rounds of boosting in folds: what a row's loss asks for, a tree of that, and how many trees help rows of another fold.
#include "boost.hpp"

#include <algorithm>
#include <cmath>

#include "threads.hpp"

namespace posteriori {

namespace {

constexpr std::size_t BLOCK = 8192;  // rows that a thread takes at a time
constexpr double FLOOR = 1e-12;      // of a probability whose logarithm is a loss

template <typename C> class Model {
    const CodedRows<C>& data;
    const std::uint32_t* const y;
    const double* const weights;
    const int K, V;
    const Boosting& how;
    Xoshiro random;
    BoostGrower<C> grower;
    std::vector<std::int32_t> mine, drawn, others;
    std::vector<float> F;  // [row][value]
    double heaviest = 0;

  public:
    std::vector<std::int32_t> held;  // rows of the fold, which are not learned
    std::vector<float> start;
    std::vector<BoostedTree> trees;

    Model(const CodedRows<C>& data, const Tiles<C>& tiles, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
          std::size_t own, std::uint64_t seed, const Boosting& how)
        : data(data), y(y), weights(weights), K(K), V(K == 2 ? 1 : K), how(how), random(seed), grower(data, tiles, V, how) {
        std::vector<double> counts(K, 0.5);
        double whole = 0.5 * K;
        for (std::size_t r = 0; r < data.n; ++r) {
            (fold[r] == own ? held : mine).push_back(static_cast<std::int32_t>(r));
            if (fold[r] != own) counts[y[r]] += weight(r), whole += weight(r), heaviest = std::max(heaviest, weight(r));
        }
        for (int v = 0; v < V; ++v) start.push_back(static_cast<float>(std::log(V == 1 ? counts[1] / counts[0] : counts[v] / whole)));
        F.resize(data.n * V);
        for (std::size_t r = 0; r < data.n; ++r) std::copy(start.begin(), start.end(), F.begin() + r * V);
    }

    const float* logits(std::size_t r) const { return F.data() + r * V; }
    double weight(std::size_t r) const { return weights ? weights[r] : 1.0; }

    void go_on(int rounds, int threads, Watch& watch) {
        Slopes slopes(data.n, V);
        for (int i = 0; i < rounds; ++i) {
            watch();
            draw();
            if (!drawn.empty()) how.exponential ? exponential(slopes, threads) : logistic(slopes, threads);
            trees.push_back(grower.grow(drawn, slopes, random, threads, watch));
            advance(trees.back(), threads);
        }
    }

  private:
    // ⌈share · m⌉ of the fold's rows, each with the same chance, in their order.
    void draw() {
        drawn.clear();
        others = held;
        std::size_t left = mine.size(), wanted = static_cast<std::size_t>(std::ceil(how.share * static_cast<double>(left)));
        for (const auto r : mine) {
            const bool in = static_cast<double>(left--) * random.uniform() < static_cast<double>(wanted);
            wanted -= in;
            (in ? drawn : others).push_back(r);
        }
    }

    template <typename Work> static void in_blocks(std::size_t n, int threads, Work&& work) {
        parallel_for((n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) { work(b * BLOCK, std::min(n, (b + 1) * BLOCK)); });
    }

    // −ln p_y: g = p − 1[y = k], h = p(1 − p).
    void logistic(Slopes& slopes, int threads) const {
        slopes.bound(heaviest, heaviest / 4);
        in_blocks(drawn.size(), threads, [&](std::size_t from, std::size_t to) {
            std::vector<double> p(K);
            for (std::size_t i = from; i < to; ++i) {
                const std::size_t r = drawn[i];
                const double w = weight(r);
                softmax(logits(r), K, p.data());
                for (int v = 0; v < V; ++v) {
                    const int k = V == 1 ? 1 : v;
                    slopes.set(r, v, w * (p[k] - (static_cast<int>(y[r]) == k)), w * std::max(p[k] * (1 - p[k]), 1e-6));
                }
            }
        });
    }

    // e = exp(f̄ − f_y): g = e (1/K − 1[y = k]), h = e (1/K − 1[y = k])².
    void exponential(Slopes& slopes, int threads) const {
        std::vector<double> loss(drawn.size());
        in_blocks(drawn.size(), threads, [&](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i) {
                const std::size_t r = drawn[i];
                const float* f = logits(r);
                double mean = 0;
                for (int v = 0; v < V; ++v) mean += static_cast<double>(f[v]) / K;
                loss[i] = weight(r) * std::exp(mean - (V > 1 ? f[y[r]] : y[r] == 1 ? f[0] : 0.0f));
            }
        });
        const double most = *std::max_element(loss.begin(), loss.end());
        slopes.bound(most, most);
        in_blocks(drawn.size(), threads, [&](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i)
                for (int v = 0; v < V; ++v) {
                    const double by = 1.0 / K - (static_cast<int>(y[drawn[i]]) == (V == 1 ? 1 : v));
                    slopes.set(drawn[i], v, loss[i] * by, loss[i] * by * by);
                }
        });
    }

    void advance(const BoostedTree& grown, int threads) {
        const auto& tree = grown.tree;
        const auto to = [&](std::size_t r, std::int32_t node) {
            const float* value = grown.values.data() + static_cast<std::size_t>(node) * V;
            for (int v = 0; v < V; ++v) F[r * V + v] += value[v];
        };
        for (const auto& leaf : grower.leaves)
            for (std::int32_t i = leaf.from; i < leaf.to; ++i) to(drawn[i], leaf.node);
        in_blocks(others.size(), threads, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                const std::size_t r = others[i];
                std::int32_t node = 0;
                for (std::int32_t j; (j = tree.column[node]) >= 0;) {
                    const std::int32_t v = data.column(j)[r];
                    if (!data.named[j]) {
                        node = tree.child[node] + (v > tree.cut[node]);
                        continue;
                    }
                    const std::size_t words = (static_cast<std::size_t>(data.sizes[j]) + 63) / 64;
                    const std::uint64_t* bits = tree.bits.data() + tree.cut[node];
                    if (!(bits[words + v / 64] >> (v % 64) & 1)) break;
                    node = tree.child[node] + !(bits[v / 64] >> (v % 64) & 1);
                }
                to(r, node);
            }
        });
    }
};

}  // namespace

void softmax(const float* F, int K, double* p) {
    if (K == 2) {
        const double e = std::exp(-std::abs(static_cast<double>(F[0]))), more = 1 / (1 + e), less = e / (1 + e);
        p[F[0] > 0] = more, p[F[0] <= 0] = less;
        return;
    }
    const double most = *std::max_element(F, F + K);
    double whole = 0;
    for (int k = 0; k < K; ++k) whole += p[k] = std::exp(F[k] - most);
    for (int k = 0; k < K; ++k) p[k] /= whole;
}

template <typename C>
Boosted boost(const CodedRows<C>& rows, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
              const std::vector<std::uint64_t>& seeds, const Boosting& how, int threads, Watch& watch, std::atomic<std::size_t>& done) {
    const std::size_t V = K == 2 ? 1 : K, folds = seeds.size();
    const Tiles<C> tiles(rows, static_cast<int>(V), how, threads);
    std::vector<Model<C>> models;
    models.reserve(folds);
    for (std::size_t f = 0; f < folds; ++f) models.emplace_back(rows, tiles, y, K, weights, fold, f, seeds[f], how);
    Boosted made;
    made.out.resize(rows.n * V);
    double total = 0;
    for (std::size_t r = 0; r < rows.n; ++r) total += weights ? weights[r] : 1.0;

    std::vector<double> p(K);
    const auto check = [&] {  // the loss of each row by the model that has not seen it
        double loss = 0;
        for (const auto& model : models)
            for (const auto r : model.held) {
                softmax(model.logits(r), K, p.data());
                loss -= model.weight(r) * std::log(std::max(p[y[r]], FLOOR)) / total;
            }
        if (made.losses.empty() || loss < *std::min_element(made.losses.begin(), made.losses.end())) {
            made.rounds = static_cast<int>(models[0].trees.size());
            for (const auto& model : models)
                for (const auto r : model.held) std::copy(model.logits(r), model.logits(r) + V, made.out.begin() + r * V);
        }
        made.losses.push_back(loss);
        return loss;
    };
    double best = check();
    for (int at = 0, idle = 0; at < how.rounds && idle < how.patience;) {
        const int some = std::min(how.every, how.rounds - at);
        // as many folds as threads at once, each on one; then all threads on what is left of them
        const std::size_t most = std::max(threads, 1), side = folds / most * most, rest = folds - side;
        parallel_for(side, threads, [&](std::size_t f) { models[f].go_on(some, 1, watch); });
        const int each = rest ? static_cast<int>((most + rest - 1) / rest) : 1;
        parallel_for(rest, threads, [&](std::size_t f) { models[side + f].go_on(some, each, watch); });
        done = at += some;
        const double loss = check();
        idle = loss < best - how.better ? 0 : idle + 1;
        best = idle ? best : loss;
    }
    for (auto& model : models) {
        made.start.insert(made.start.end(), model.start.begin(), model.start.end());
        std::move(model.trees.begin(), model.trees.begin() + made.rounds, std::back_inserter(made.trees));
    }
    return made;
}

#define POSTERIORI_BOOST(C)                                                                                                             \
    template Boosted boost<C>(const CodedRows<C>&, const std::uint32_t*, int, const double*, const std::uint8_t*,                       \
                              const std::vector<std::uint64_t>&, const Boosting&, int, Watch&, std::atomic<std::size_t>&);
POSTERIORI_BOOST(std::uint8_t)
POSTERIORI_BOOST(std::uint16_t)
#undef POSTERIORI_BOOST

}  // namespace posteriori
