// Rounds of boosting in folds: what a row's loss asks for, a tree of that, and how many trees help rows of another fold.
#include "boost.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "threads.hpp"

namespace posteriori {

namespace {

constexpr std::size_t BLOCK = 8192;  // rows that a thread takes at a time
constexpr int AHEAD = 12;            // rows that are fetched before they are needed
constexpr double FLOOR = 1e-12;      // of a probability whose logarithm is a loss
constexpr std::size_t MANY = 2048;   // rows from which few steps of g and h tell splits apart
constexpr int NAMED = 3;             // of so many columns one may have names: a rare class orders them, and few steps are too few
constexpr double EVEN = 4;           // the greatest weight, to the mean, of which few steps are left to the others

template <typename C, typename S> class Model {
    const CodedRows<C>& data;
    const Tiles<C>& tiles;
    const std::uint32_t* const y;
    const double* const weights;
    const int K, V;
    const Boosting& how;
    Xoshiro random;
    BoostGrower<C, S> grower;
    std::vector<std::int32_t> mine, drawn, others;
    std::vector<float> F;  // [row][value], and eight that are read without being used
    double heaviest = 0;

  public:
    std::vector<std::int32_t> held;  // rows of the fold, which are not learned
    std::vector<float> start;
    std::vector<BoostedTree> trees;

    Model(const CodedRows<C>& data, const Tiles<C>& tiles, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
          std::size_t own, std::uint64_t seed, const Boosting& how)
        : data(data), tiles(tiles), y(y), weights(weights), K(K), V(K == 2 ? 1 : K), how(how), random(seed), grower(data, tiles, V, how) {
        std::vector<double> counts(K, 0.5);
        double whole = 0.5 * K;
        for (std::size_t r = 0; r < data.n; ++r) {
            (fold[r] == own ? held : mine).push_back(static_cast<std::int32_t>(r));
            if (fold[r] != own) counts[y[r]] += weight(r), whole += weight(r), heaviest = std::max(heaviest, weight(r));
        }
        for (int v = 0; v < V; ++v) start.push_back(static_cast<float>(std::log(V == 1 ? counts[1] / counts[0] : counts[v] / whole)));
        F.resize(data.n * V + 8);
        for (std::size_t r = 0; r < data.n; ++r) std::copy(start.begin(), start.end(), F.begin() + r * V);
        others = held;
    }

    const float* logits(std::size_t r) const { return F.data() + r * V; }
    double weight(std::size_t r) const { return weights ? weights[r] : 1.0; }

    int rounds() const { return static_cast<int>(trees.size()); }

    void go_on(S& slopes, int threads, Watch& watch) {
        watch();
        draw();
        if (!drawn.empty()) derive(slopes, threads);
        trees.push_back(grower.grow(drawn, slopes, random, threads, watch));
        advance(trees.back(), threads);
    }

    // The loss of the rows that are not learned.
    double loss() const {
        std::vector<double> p(K);
        double found = 0;
        for (const auto r : held) {
            softmax(logits(r), K, p.data());
            found -= weight(r) * std::log(std::max(p[y[r]], FLOOR));
        }
        return found;
    }

  private:
    // ⌈share · m⌉ of the fold's rows, each with the same chance, in their order.
    void draw() {
        std::size_t left = mine.size(), in = 0, out = held.size();
        const auto wanted = static_cast<std::size_t>(std::ceil(how.share * static_cast<double>(left)));
        drawn.resize(left + 1), others.resize(data.n + 1);  // the rows held stand first among the others
        for (const auto r : mine) {  // without a branch that could be guessed wrongly
            const bool goes = static_cast<double>(left--) * random.uniform() < static_cast<double>(wanted - in);
            drawn[in] = r, others[out] = r;
            in += goes, out += !goes;
        }
        drawn.resize(in), others.resize(out);
    }

    template <typename Work> static void in_blocks(std::size_t n, int threads, Work&& work) {
        parallel_for((n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) { work(b * BLOCK, std::min(n, (b + 1) * BLOCK)); });
    }

    void derive(Words& words, int threads) {
        words.bound(heaviest, heaviest / 4);
        const auto seed = static_cast<std::uint32_t>(random.next());
        in_blocks(drawn.size(), threads,
                  [&](std::size_t from, std::size_t to) { words.logistic(drawn.data() + from, to - from, F.data(), y, weights, seed); });
    }

    void derive(Slopes& slopes, int threads) const { how.exponential ? exponential(slopes, threads) : logistic(slopes, threads); }

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
            for (std::int32_t i = leaf.from; i < leaf.to; ++i) {
                __builtin_prefetch(logits(drawn[std::min<std::size_t>(i + AHEAD, drawn.size() - 1)]), 1);
                to(drawn[i], leaf.node);
            }
        in_blocks(others.size(), threads, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                const std::size_t r = others[i];
                if (tiles.worth) {
                    const std::size_t next = others[std::min(i + AHEAD, last - 1)];
                    __builtin_prefetch(tiles.codes.data() + next * data.d());
                    __builtin_prefetch(logits(next), 1);
                }
                std::int32_t node = 0;
                for (std::int32_t j; (j = tree.column[node]) >= 0;) {
                    const std::int32_t v = tiles.worth ? tiles.codes[r * data.d() + j] : data.column(j)[r];
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

namespace {

// Rounds of every fold up to `wanted`, the fold furthest behind first, so that threads that are fewer than folds end together;
// where they are more, some for each fold.
template <typename C, typename S>
void go_on(std::vector<Model<C, S>>& models, int wanted, std::vector<S>& slopes, int threads, Watch& watch) {
    std::mutex guard;
    std::vector<std::uint8_t> busy(models.size(), 0);
    const int each = std::max(1, (threads + static_cast<int>(models.size()) - 1) / static_cast<int>(models.size()));
    parallel_for(slopes.size(), threads, [&](std::size_t own) {
        for (std::size_t f = models.size();; f = models.size()) {
            {
                const std::lock_guard<std::mutex> hold(guard);
                for (std::size_t g = 0; g < models.size(); ++g)
                    if (!busy[g] && models[g].rounds() < (f < models.size() ? models[f].rounds() : wanted)) f = g;
                if (f == models.size()) return;
                busy[f] = 1;
            }
            models[f].go_on(slopes[own], each, watch);
            const std::lock_guard<std::mutex> hold(guard);
            busy[f] = 0;
        }
    });
}

template <typename C, typename S>
Boosted boost_with(const CodedRows<C>& rows, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
                   const std::vector<std::uint64_t>& seeds, const Boosting& how, int threads, Watch& watch, std::atomic<std::size_t>& done) {
    const std::size_t V = K == 2 ? 1 : K, folds = seeds.size(), kept = S::units(static_cast<int>(V)) * sizeof(typename S::Unit);
    const Tiles<C> tiles(rows, S::near(static_cast<int>(V)), kept, how, threads);
    std::vector<Model<C, S>> models;
    models.reserve(folds);
    for (std::size_t f = 0; f < folds; ++f) models.emplace_back(rows, tiles, y, K, weights, fold, f, seeds[f], how);
    const std::size_t teams = std::min<std::size_t>(folds, std::max(threads, 1));
    std::vector<S> slopes;
    slopes.reserve(teams);
    while (slopes.size() < teams) slopes.emplace_back(rows.n, static_cast<int>(V), tiles.fits);
    Boosted made;
    made.out.resize(rows.n * V);
    double total = 0;
    for (std::size_t r = 0; r < rows.n; ++r) total += weights ? weights[r] : 1.0;

    const auto check = [&] {  // the loss of each row by the model that has not seen it
        std::vector<double> parts(folds);
        parallel_for(folds, threads, [&](std::size_t f) { parts[f] = models[f].loss(); });
        double loss = 0;
        for (const double part : parts) loss += part / total;
        if (made.losses.empty() || loss < *std::min_element(made.losses.begin(), made.losses.end())) {
            made.rounds = models[0].rounds();
            parallel_for(folds, threads, [&](std::size_t f) {
                for (const auto r : models[f].held) std::copy(models[f].logits(r), models[f].logits(r) + V, made.out.begin() + r * V);
            });
        }
        made.losses.push_back(loss);
        return loss;
    };
    double best = check();
    for (int at = 0, idle = 0; at < how.rounds && idle < how.patience;) {
        at += std::min(how.every, how.rounds - at);
        go_on(models, at, slopes, threads, watch);
        done = at;
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

}  // namespace

template <typename C>
Boosted boost(const CodedRows<C>& rows, const std::uint32_t* y, int K, const double* weights, const std::uint8_t* fold,
              const std::vector<std::uint64_t>& seeds, const Boosting& how, int threads, Watch& watch, std::atomic<std::size_t>& done) {
    double whole = 0, heaviest = 0;
    for (std::size_t r = 0; weights && r < rows.n; ++r) whole += weights[r], heaviest = std::max(heaviest, weights[r]);
    const bool even = !weights || heaviest * static_cast<double>(rows.n) <= EVEN * whole;
    int named = 0;
    for (int j = 0; j < rows.d(); ++j) named += rows.named[j] && rows.sizes[j] > 2;
    const bool words = K > 2 && !how.exponential && rows.n >= MANY && rows.n <= Words::ROWS && even && named * NAMED <= rows.d();
    return words ? boost_with<C, Words>(rows, y, K, weights, fold, seeds, how, threads, watch, done)
                 : boost_with<C, Slopes>(rows, y, K, weights, fold, seeds, how, threads, watch, done);
}

#define POSTERIORI_BOOST(C)                                                                                                             \
    template Boosted boost<C>(const CodedRows<C>&, const std::uint32_t*, int, const double*, const std::uint8_t*,                       \
                              const std::vector<std::uint64_t>&, const Boosting&, int, Watch&, std::atomic<std::size_t>&);
POSTERIORI_BOOST(std::uint8_t)
POSTERIORI_BOOST(std::uint16_t)
#undef POSTERIORI_BOOST

}  // namespace posteriori
