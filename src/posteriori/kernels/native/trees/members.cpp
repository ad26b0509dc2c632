#include "members.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backoff.hpp"
#include "network/xoshiro.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {

constexpr int FEWEST = 3, MOST = 12;      // bins of a numeric column
constexpr double FLOOR = 1e-4;            // nats that any parent is taken to tell
constexpr double LOWEST = 0.25, USUAL = 4.0;
constexpr int RUNGS = 13;                 // concentrations .25 … 1024
constexpr std::size_t BLOCK = 256;

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// What leaving a row out leaves of its cell and its context, and what the rung below says of it; of all rows that were drawn
// equally often and have the same cell, w being what they weigh together.
struct Left {
    double n, N, below, w;
};

// Σ w ln[(n + c p)/(N + c)] − ½ ln²(c/4); products of factors are collected, and their logarithm taken now and then.
double leave_one_out(const std::vector<Left>& rows, double c) {
    double sum = 0, above = 1, under = 1;
    int held = 0;
    for (const auto& r : rows) {
        if (r.N <= 0) continue;
        const double a = r.n + c * r.below, b = r.N + c;
        if (r.w > 8) {
            sum += r.w * std::log(a / b);
            continue;
        }
        for (int i = static_cast<int>(r.w); i > 0; --i) above *= a, under *= b;
        held += static_cast<int>(r.w);
        if (held >= 12) sum += std::log(above) - std::log(under), above = under = 1, held = 0;
    }
    const double away = std::log(c / USUAL);
    return sum + std::log(above) - std::log(under) - 0.5 * away * away;
}

double best_concentration(const std::vector<Left>& rows) {
    const auto at = [](int k) { return LOWEST * static_cast<double>(1 << k); };
    int k = 4;  // the usual one; the criterion has one summit, or nearly so
    double best = leave_one_out(rows, at(k));
    for (const int step : {1, -1}) {
        const int from = k;
        for (int next = k + step; next >= 0 && next < RUNGS; next += step) {
            const double found = leave_one_out(rows, at(next));
            if (!(found > best)) break;
            best = found, k = next;
        }
        if (k != from) break;
    }
    return at(k);
}

template <typename C> class Grower {
    const CodedRows<C>& data;
    const std::uint32_t* const y;
    const int K, d;
    Xoshiro random;
    std::vector<std::int32_t> rows;   // drawn ones,
    std::vector<std::uint32_t> w;     // how often,
    std::vector<std::uint32_t> c;     // and their classes
    double n = 0, of_classes = 0;     // of_classes = Σ g(n_y)
    std::vector<std::uint16_t> codes; // [column][row]
    std::vector<std::uint32_t> of_class, cells, pair;  // counts; the code and class of each row, as one number
    std::vector<double> within;       // Σ g(n_xy) of each column
    std::vector<double> logs;         // g(n) = n ln n of whole numbers
    Member member;

    const std::uint16_t* column(int j) const { return codes.data() + static_cast<std::size_t>(j) * rows.size(); }
    double g(std::uint32_t x) const { return x < logs.size() ? logs[x] : x_log_x(x); }

    // Σ g over the first m cells, in four sums that do not wait for each other.
    double information(std::size_t m) const {
        double sum[4] = {};
        std::size_t i = 0;
        for (; i + 4 <= m; i += 4)
            for (int q = 0; q < 4; ++q) sum[q] += g(cells[i + q]);
        for (; i < m; ++i) sum[0] += g(cells[i]);
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

  public:
    Grower(const CodedRows<C>& data, const std::uint32_t* y, int K, const double* bag, std::uint64_t seed)
        : data(data), y(y), K(K), d(data.d()), random(seed ^ 0x6b44424d656d6265u), of_class(K) {
        for (std::size_t r = 0; r < data.n; ++r) {
            if (bag[r] <= 0) continue;
            const auto times = static_cast<std::uint32_t>(bag[r]);
            rows.push_back(static_cast<std::int32_t>(r)), w.push_back(times), c.push_back(y[r]);
            of_class[y[r]] += times, n += times;
        }
        logs.resize(std::min<std::size_t>(static_cast<std::size_t>(n) + 1, 4096));
        for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = x_log_x(static_cast<double>(i));
    }

    Member grow(const std::uint8_t* blank, const std::int64_t* first, const double* weight, std::size_t most) {
        member.sizes.resize(d), member.parents.assign(2 * static_cast<std::size_t>(d), -1), member.starts.assign(d + 1, 0);
        member.values.resize(first[d]);
        codes.resize(rows.size() * static_cast<std::size_t>(d));
        for (int j = 0; j < d; ++j) cut(j, blank[j], member.values.data() + first[j], weight + first[j]);
        for (int k = 0; k < K; ++k) member.prior.push_back(static_cast<float>(std::log((of_class[k] + 0.5) / (n + 0.5 * K))));
        choose_parents(most);
        for (int i = 0; i < d; ++i) count(i);
        return std::move(member);
    }

  private:
    // The member's values of a column, and the codes of the rows drawn.
    void cut(int j, bool blank, std::uint16_t* value, const double* weight) {
        const int size = data.sizes[j];
        int V = size;
        if (data.named[j]) {
            for (int v = 0; v < size; ++v) value[v] = static_cast<std::uint16_t>(v);
        } else {
            const int low = blank ? 1 : 0;
            std::vector<double> upto(size - low);
            for (int v = low; v < size; ++v) upto[v - low] = weight[v] + (v > low ? upto[v - low - 1] : 0.0);
            const double all = upto.empty() ? 0.0 : upto.back();
            std::vector<std::uint8_t> begins(size, 0);  // whether a bin begins with the code
            const int bins = FEWEST + static_cast<int>(random.next() % (MOST - FEWEST + 1));
            for (int b = 1; b < bins; ++b) {
                const double u = random.uniform() * all;
                const auto at = std::upper_bound(upto.begin(), upto.end(), u) - upto.begin();
                if (at > 0 && at < static_cast<std::ptrdiff_t>(upto.size())) begins[low + at] = 1;
            }
            V = 0;
            for (int v = 0; v < size; ++v) {
                if (v == 0 || v == low) V = v == 0 ? 1 : 2;  // missing, if it is a value, and the first bin
                else V += begins[v];
                value[v] = static_cast<std::uint16_t>(V - 1);
            }
        }
        member.sizes[j] = V;
        const C* from = data.column(j);
        std::uint16_t* to = codes.data() + static_cast<std::size_t>(j) * rows.size();
        for (std::size_t i = 0; i < rows.size(); ++i) to[i] = value[from[rows[i]]];
    }

    // n I(X;Y) = Σ g(n_xy) − Σ g(n_x) − Σ g(n_y) + g(n), but for what is the same for all columns.
    double tells(int j) {
        const std::size_t V = member.sizes[j];
        cells.assign(V * K, 0);
        const auto* x = column(j);
        for (std::size_t i = 0; i < rows.size(); ++i) cells[static_cast<std::size_t>(x[i]) * K + c[i]] += w[i];
        within[j] = information(V * K);
        double sum = within[j];
        for (std::size_t v = 0; v < V; ++v) {
            std::uint32_t all = 0;
            for (int k = 0; k < K; ++k) all += cells[v * K + k];
            sum -= g(all);
        }
        return sum;
    }

    // Reads column i for what others tell of it.
    void hold(int i) {
        const auto* a = column(i);
        pair.resize(rows.size());
        for (std::size_t r = 0; r < rows.size(); ++r) pair[r] = static_cast<std::uint32_t>(a[r]) * K + c[r];
    }

    // max(0, I(Xi;Xj|Y) − K (Vi−1)(Vj−1)/2n) of the column i that is held; nothing is counted where what is charged exceeds all
    // that could be told. n I(Xi;Xj|Y) = Σ g(n_xiy xj) − Σ g(n_xiy) − Σ g(n_xjy) + Σ g(n_y).
    double tells(int i, int j) {
        const double Vi = member.sizes[i], Vj = member.sizes[j], charge = K * (Vi - 1) * (Vj - 1) / (2 * n);
        if (charge >= std::log(std::min(Vi, Vj))) return 0.0;
        const std::size_t step = static_cast<std::size_t>(member.sizes[i]) * K, room = step * member.sizes[j];
        if (cells.size() < room) cells.resize(room);
        std::fill(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(room), 0);
        const auto* b = column(j);
        for (std::size_t r = 0; r < rows.size(); ++r) cells[b[r] * step + pair[r]] += w[r];
        return std::max(0.0, (information(room) - within[i] - within[j] + of_classes) / n - charge);
    }

    void choose_parents(std::size_t most) {
        const int most_looked = std::clamp(LOOKS / d, FEWEST_CANDIDATES, CANDIDATES);
        std::vector<double> told(d);
        std::vector<int> order(d), before;
        within.resize(d), of_classes = 0;
        for (const auto k : of_class) of_classes += g(k);
        for (int j = 0; j < d; ++j) told[j] = tells(j), order[j] = j;
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return told[a] > told[b]; });
        for (int q = 1; q < d; ++q) {
            const int i = order[q];
            before.assign(order.begin(), order.begin() + q);
            hold(i);
            const int looked = std::min(q, most_looked);
            double best[2] = {-INFINITY, -INFINITY};
            int who[2] = {-1, -1};
            for (int k = 0; k < looked; ++k) {
                if (q > most_looked) std::swap(before[k], before[k + static_cast<int>(random.next() % (q - k))]);
                const double gumbel = -std::log(-std::log(1 - random.uniform() + 0x1p-60));
                const double found = std::log(tells(i, before[k]) + FLOOR) + gumbel;
                if (found > best[0])
                    best[1] = best[0], who[1] = who[0], best[0] = found, who[0] = before[k];
                else if (found > best[1])
                    best[1] = found, who[1] = before[k];
            }
            double size = static_cast<double>(member.sizes[i]) * K;
            for (int l = 0; l < 2 && who[l] >= 0; ++l) {
                size *= member.sizes[who[l]];
                if (size > static_cast<double>(most)) break;
                member.parents[2 * i + l] = who[l];
            }
        }
    }

    // The rows of the bag in groups of the same cell and weight: which is whose, and a row of each. Where cells are many and
    // rows few a row is a group of its own.
    std::size_t groups(const std::vector<std::size_t>& at, std::size_t room, std::vector<std::uint32_t>& whose, std::vector<std::uint32_t>& first) {
        first.clear();
        const std::size_t weights = *std::max_element(w.begin(), w.end());
        if (room * weights > 8 * at.size()) {
            first.resize(at.size());
            for (std::size_t r = 0; r < at.size(); ++r) whose[r] = first[r] = static_cast<std::uint32_t>(r);
            return at.size();
        }
        std::vector<std::uint32_t> place(room * weights, UINT32_MAX);
        for (std::size_t r = 0; r < at.size(); ++r) {
            auto& known = place[at[r] * weights + w[r] - 1];
            if (known == UINT32_MAX) known = static_cast<std::uint32_t>(first.size()), first.push_back(static_cast<std::uint32_t>(r));
            whose[r] = known;
        }
        return first.size();
    }

    // The counts, the concentrations and the tables of a column.
    void count(int i) {
        const std::size_t V = member.sizes[i], m = rows.size();
        const int* parent = member.parents.data() + 2 * i;
        std::vector<Left> left, lower;
        std::vector<std::size_t> context(m, 0), at(m);
        std::vector<std::uint32_t> whose(m, 0), under(m), first;
        std::vector<double> below;  // θ of the rung below, [context][x][y]
        std::size_t contexts = 1, wider = 1;
        for (int l = 0; l < 3 && (l == 0 || parent[l - 1] >= 0); ++l) {
            if (l > 0) {
                wider = member.sizes[parent[l - 1]];
                const auto* p = column(parent[l - 1]);
                for (std::size_t r = 0; r < m; ++r) context[r] = context[r] * wider + p[r];
                contexts *= wider;
            }
            std::vector<double> n(contexts * V * K, 0.0), N(contexts * K, 0.0);
            const auto* x = column(i);
            for (std::size_t r = 0; r < m; ++r) {
                at[r] = (context[r] * V + x[r]) * K + c[r];
                n[at[r]] += w[r], N[context[r] * K + c[r]] += w[r];
            }
            under.swap(whose), lower.swap(left);
            if (l == 0) lower.assign(1, {0, 0, 1.0 / static_cast<double>(V), 0});
            left.resize(groups(at, n.size(), whose, first));
            for (std::size_t q = 0; q < first.size(); ++q) {
                const auto r = first[q];
                left[q] = {n[at[r]] - w[r], N[context[r] * K + c[r]] - w[r], lower[under[r]].below, 0};
            }
            for (std::size_t r = 0; r < m; ++r) left[whose[r]].w += w[r];
            const double conc = best_concentration(left);
            for (auto& r : left) r.below = leaned(r.n, r.N, conc, r.below);
            std::vector<double> theta(n.size());
            for (std::size_t u = 0; u < contexts; ++u)
                for (std::size_t v = 0; v < V; ++v)
                    for (int k = 0; k < K; ++k) {
                        const std::size_t cell = (u * V + v) * K + k;
                        const double base = l == 0 ? 1.0 / static_cast<double>(V) : below[((u / wider) * V + v) * K + k];
                        theta[cell] = leaned(n[cell], N[u * K + k], conc, base);
                    }
            for (const double t : theta) member.tables.push_back(std::log(static_cast<float>(t)));
            below = std::move(theta);
        }
        member.starts[i + 1] = static_cast<std::int64_t>(member.tables.size());
    }
};

}  // namespace

template <typename C>
Member grow_member(const CodedRows<C>& rows, const std::uint8_t* blank, const std::int64_t* first, const double* weight, const std::uint32_t* y,
                   int K, const double* bag, std::size_t most, std::uint64_t seed) {
    return Grower<C>(rows, y, K, bag, seed).grow(blank, first, weight, most);
}

template <typename C>
void member_sums(const CodedRows<C>& rows, const std::int64_t* first, const Members& all, Bags bags, double* out, std::uint32_t* used,
                 int threads) {
    const std::size_t d = rows.sizes.size(), n = rows.n, words = (n + 63) / 64, K = all.K;
    parallel_for((n + BLOCK - 1) / BLOCK, threads, [&](std::size_t b) {
        const std::size_t from = b * BLOCK, to = std::min(n, from + BLOCK);
        std::vector<C> codes((to - from) * d);
        for (std::size_t j = 0; j < d; ++j) {
            const C* column = rows.column(static_cast<int>(j));
            for (std::size_t r = from; r < to; ++r) codes[(r - from) * d + j] = column[r];
        }
        std::vector<std::uint16_t> v(d);
        std::vector<float> s(K);
        for (std::size_t t = 0; t < all.members; ++t) {
            const std::uint16_t* values = all.values + t * static_cast<std::size_t>(first[d]);
            const std::int32_t *sizes = all.sizes + t * d, *parents = all.parents + t * 2 * d;
            const std::int64_t* starts = all.starts + t * (d + 1);
            for (std::size_t r = from; r < to; ++r) {
                if (bags && (bags[t * words + r / 64] >> (r % 64) & 1)) continue;
                const C* row = codes.data() + (r - from) * d;
                for (std::size_t j = 0; j < d; ++j) v[j] = static_cast<std::int32_t>(row[j]) < rows.sizes[j] ? values[first[j] + row[j]] : NONE;
                std::copy(all.prior + t * K, all.prior + (t + 1) * K, s.begin());
                for (std::size_t i = 0; i < d; ++i) {
                    if (v[i] == NONE) continue;
                    const std::size_t V = sizes[i];
                    std::size_t table = starts[i], context = 0, contexts = 1;
                    for (int l = 0; l < 2; ++l) {
                        const std::int32_t p = parents[2 * i + l];
                        if (p < 0 || v[p] == NONE) break;
                        table += contexts * V * K;
                        contexts *= sizes[p], context = context * sizes[p] + v[p];
                    }
                    const float* cell = all.tables + table + (context * V + v[i]) * K;
                    for (std::size_t k = 0; k < K; ++k) s[k] += cell[k];
                }
                const float top = *std::max_element(s.begin(), s.end());
                double whole = 0;
                for (auto& x : s) whole += x = std::exp(x - top);
                for (std::size_t k = 0; k < K; ++k) out[r * K + k] += s[k] / whole;
                ++used[r];
            }
        }
    });
}

template Member grow_member<std::uint8_t>(const CodedRows<std::uint8_t>&, const std::uint8_t*, const std::int64_t*, const double*,
                                          const std::uint32_t*, int, const double*, std::size_t, std::uint64_t);
template Member grow_member<std::uint16_t>(const CodedRows<std::uint16_t>&, const std::uint8_t*, const std::int64_t*, const double*,
                                           const std::uint32_t*, int, const double*, std::size_t, std::uint64_t);
template void member_sums<std::uint8_t>(const CodedRows<std::uint8_t>&, const std::int64_t*, const Members&, Bags, double*, std::uint32_t*, int);
template void member_sums<std::uint16_t>(const CodedRows<std::uint16_t>&, const std::int64_t*, const Members&, Bags, double*, std::uint32_t*, int);

}  // namespace posteriori
