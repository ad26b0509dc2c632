// Growing a member: cuts, parents and concentrations of its own, and what it has counted.
#include "members.hpp"

#include <algorithm>
#include <cmath>

#include "backoff.hpp"
#include "bits.hpp"
#include "network/xoshiro.hpp"
#include "pair_cells.hpp"

namespace posteriori {

namespace {

constexpr int FEWEST = 3, MOST = 12;      // bins of a numeric column
constexpr double FLOOR = 1e-4;            // nats that any parent is taken to tell
constexpr double USUAL = 4.0;             // concentration

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// What leaving a row out leaves of its cell and its context, and what the rung below says of it; of all rows that were drawn
// equally often and have the same cell, w being what they weigh together.
struct Left {
    double n, N, below;
    std::uint32_t w;
};

// Σ w ln[(n + c p)/(N + c)] − ½ ln²(c/4). Factors, none above 1, are multiplied until hardly a number is left of them, and then
// their logarithm is taken.
double leave_one_out(const std::vector<Left>& rows, double c) {
    constexpr double LITTLE = 1e-200, RARE = 1e-12;  // RARE⁸ LITTLE is a number
    double sum = 0, product = 1;
    const auto times = [&](double factor) {
        product *= factor;
        if (product < LITTLE) sum += std::log(product), product = 1;
    };
    for (const auto& r : rows) {
        if (r.N <= 0) continue;
        const double q = (r.n + c * r.below) / (r.N + c);
        if (r.w > 64 || q < RARE) {
            sum += r.w * std::log(q);
            continue;
        }
        const double q2 = q * q, q4 = q2 * q2, one[2] = {1, q}, two[2] = {1, q2}, four[2] = {1, q4};
        times(one[r.w & 1] * two[r.w >> 1 & 1] * four[r.w >> 2 & 1]);  // looked up: no branch that is taken now and then
        for (auto k = r.w >> 3; k > 0; --k) times(q4 * q4);
    }
    const double away = std::log(c / USUAL);
    return sum + std::log(product) - 0.5 * away * away;
}

// The rung of the best concentration.
int best_rung(const std::vector<Left>& rows) {
    int k = 4;  // the usual one; the criterion has one summit, or nearly so
    double best = leave_one_out(rows, concentration(k));
    for (const int step : {1, -1}) {
        const int from = k;
        for (int next = k + step; next >= 0 && next < RUNGS; next += step) {
            const double found = leave_one_out(rows, concentration(next));
            if (!(found > best)) break;
            best = found, k = next;
        }
        if (k != from) break;
    }
    return k;
}

// The cells of a table that rows have, as members keep them.
void write_cells(const std::vector<double>& n, BitsOut& to) {
    std::vector<std::uint64_t> gaps, counts;
    std::uint64_t gap = 0;
    for (const double x : n)
        if (x == 0)
            ++gap;
        else
            gaps.push_back(gap), counts.push_back(static_cast<std::uint64_t>(x) - 1), gap = 0;
    const int k = best_parameter(gaps), l = best_parameter(counts);
    to.put(k, PARAMETER), to.put(l, PARAMETER);
    for (std::size_t i = 0; i < gaps.size(); ++i) to.rice(gaps[i], k), to.rice(counts[i], l);
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
    std::size_t most_drawn = 0;       // times that a row was drawn
    std::vector<std::uint32_t> known; // groups of rows, by cell and weight
    std::vector<std::uint16_t> codes; // [column][row]
    std::vector<std::uint32_t> of_class, cells, pair;  // counts; the code and class of each row, as one number
    int held = -1;                    // the column of `pair`
    std::vector<double> within;       // Σ g(n_xy) of each column
    std::vector<std::uint32_t> spread;          // the rows drawn, each as often as it was, class by class, in whole lanes
    std::vector<std::size_t> lanes;             // where those of a class begin
    std::vector<std::vector<std::uint32_t>> counts;  // of a column that may have bitmaps, [value][class]
    std::vector<std::vector<std::uint64_t>> bitmaps;  // those that were needed
    std::vector<double> logs;         // g(n) = n ln n of whole numbers
    std::vector<std::int32_t> sizes, parents;  // V of each column; two columns or −1
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
            of_class[y[r]] += times, n += times, most_drawn = std::max<std::size_t>(most_drawn, times);
        }
        logs.resize(std::min<std::size_t>(static_cast<std::size_t>(n) + 1, 4096));
        for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = x_log_x(static_cast<double>(i));
    }

    Member grow(const std::uint8_t* blank, const std::int64_t* first, const double* weight, std::size_t most) {
        sizes.resize(d), parents.assign(2 * static_cast<std::size_t>(d), -1);
        codes.resize(rows.size() * static_cast<std::size_t>(d));
        for (int j = 0; j < d; ++j) cut(j, blank[j], weight + first[j]);
        for (int k = 0; k < K; ++k) member.prior.push_back(static_cast<float>(std::log((of_class[k] + 0.5) / (n + 0.5 * K))));
        choose_parents(most);
        {
            BitsOut out(member.cells);
            for (int i = 0; i < d; ++i) count(i, out);
        }
        for (const auto p : parents) member.parents.push_back(p + 1);
        member.sizes = sizes;
        return std::move(member);
    }

  private:
    // The member's values of a column, and the codes of the rows drawn.
    void cut(int j, bool blank, const double* weight) {
        const int size = data.sizes[j];
        std::vector<std::uint8_t> begins(size, data.named[j]);  // whether a value begins with the code
        begins[0] = 1;
        if (!data.named[j]) {
            const int low = blank && size > 1 ? 1 : 0;
            begins[low] = 1;  // missing is a value of its own
            std::vector<double> upto(size - low);
            for (int v = low; v < size; ++v) upto[v - low] = weight[v] + (v > low ? upto[v - low - 1] : 0.0);
            const int bins = FEWEST + static_cast<int>(random.next() % (MOST - FEWEST + 1));
            for (int b = 1; b < bins; ++b) {
                const double u = random.uniform() * upto.back();
                const auto at = std::upper_bound(upto.begin(), upto.end(), u) - upto.begin();
                if (at > 0 && at < static_cast<std::ptrdiff_t>(upto.size())) begins[low + at] = 1;
            }
        }
        std::vector<std::uint16_t> value(size);
        int V = 0;
        for (int v = 0; v < size; ++v)
            V += begins[v], value[v] = static_cast<std::uint16_t>(V - 1);
        sizes[j] = V;
        for (int v = 1; v < size && V < size; ++v)
            if (begins[v]) member.cuts.push_back(static_cast<std::uint16_t>(v));
        const C* from = data.column(j);
        std::uint16_t* to = codes.data() + static_cast<std::size_t>(j) * rows.size();
        for (std::size_t i = 0; i < rows.size(); ++i) to[i] = value[from[rows[i]]];
    }

    // n I(X;Y) = Σ g(n_xy) − Σ g(n_x) − Σ g(n_y) + g(n), but for what is the same for all columns.
    double tells(int j) {
        const std::size_t V = sizes[j];
        cells.assign(V * K, 0);
        const auto* x = column(j);
        for (std::size_t i = 0; i < rows.size(); ++i) cells[static_cast<std::size_t>(x[i]) * K + c[i]] += w[i];
        if (V <= BITMAP_VALUES) counts[j].assign(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(V * K));
        within[j] = information(V * K);
        double sum = within[j];
        for (std::size_t v = 0; v < V; ++v) {
            std::uint32_t all = 0;
            for (int k = 0; k < K; ++k) all += cells[v * K + k];
            sum -= g(all);
        }
        return sum;
    }

    // The code and class of every row of column i, as one number.
    void hold(int i) {
        if (held == i) return;
        const auto* a = column(i);
        pair.resize(rows.size());
        for (std::size_t r = 0; r < rows.size(); ++r) pair[r] = static_cast<std::uint32_t>(a[r]) * K + c[r];
        held = i;
    }

    // The rows drawn, class by class.
    void spread_rows() {
        lanes.assign(K + 1, 0);
        for (int k = 0; k < K; ++k) lanes[k + 1] = lanes[k] + (of_class[k] + LANE_ROWS - 1) / LANE_ROWS;
        spread.assign(lanes[K] * LANE_ROWS, UINT32_MAX);
        std::vector<std::size_t> at(K);
        for (int k = 0; k < K; ++k) at[k] = lanes[k] * LANE_ROWS;
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (std::uint32_t times = 0; times < w[r]; ++times) spread[at[c[r]]++] = static_cast<std::uint32_t>(r);
    }

    Bitmaps bitmaps_of(int j) {
        if (bitmaps[j].empty()) {
            const auto* x = column(j);
            std::vector<std::uint8_t> bytes(spread.size());
            for (std::size_t t = 0; t < spread.size(); ++t) bytes[t] = spread[t] == UINT32_MAX ? NO_VALUE : static_cast<std::uint8_t>(x[spread[t]]);
            fill_bitmaps(bytes, sizes[j], bitmaps[j]);
        }
        return {sizes[j], bitmaps[j].data(), counts[j].data()};
    }

    // max(0, I(Xi;Xj|Y) − K (Vi−1)(Vj−1)/2n); nothing is counted where what is charged exceeds all
    // that could be told. n I(Xi;Xj|Y) = Σ g(n_xiy xj) − Σ g(n_xiy) − Σ g(n_xjy) + Σ g(n_y).
    double tells(int i, int j) {
        const double Vi = sizes[i], Vj = sizes[j], charge = K * (Vi - 1) * (Vj - 1) / (2 * n);
        if (charge >= std::log(std::min(Vi, Vj))) return 0.0;
        const std::size_t step = static_cast<std::size_t>(sizes[i]) * K, room = step * sizes[j];
        if (cells.size() < room) cells.resize(room);
        if (std::max(sizes[i], sizes[j]) <= BITMAP_VALUES && shared_cost(sizes[i], sizes[j], K, lanes[K]) < static_cast<double>(rows.size())) {
            shared_cells(bitmaps_of(i), bitmaps_of(j), lanes, cells.data());
        } else {
            hold(i);
            std::fill(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(room), 0);
            const auto* b = column(j);
            for (std::size_t r = 0; r < rows.size(); ++r) cells[b[r] * step + pair[r]] += w[r];
        }
        return std::max(0.0, (information(room) - within[i] - within[j] + of_classes) / n - charge);
    }

    void choose_parents(std::size_t most) {
        const int most_looked = std::clamp(LOOKS / d, FEWEST_CANDIDATES, CANDIDATES);
        std::vector<double> told(d);
        std::vector<int> order(d), before;
        within.resize(d), counts.resize(d), bitmaps.resize(d), of_classes = 0;
        spread_rows();
        for (const auto k : of_class) of_classes += g(k);
        for (int j = 0; j < d; ++j) told[j] = tells(j), order[j] = j;
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return told[a] > told[b]; });
        for (int q = 1; q < d; ++q) {
            const int i = order[q];
            before.assign(order.begin(), order.begin() + q);
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
            double size = static_cast<double>(sizes[i]) * K;
            for (int l = 0; l < 2 && who[l] >= 0; ++l) {
                size *= sizes[who[l]];
                if (size > static_cast<double>(most)) break;
                parents[2 * i + l] = who[l];
            }
        }
    }

    // The rows of the bag in groups of the same cell and weight: which is whose, and a row of each. Where cells are many and
    // rows few a row is a group of its own.
    std::size_t groups(const std::vector<std::size_t>& at, std::size_t room, std::vector<std::uint32_t>& whose, std::vector<std::uint32_t>& first) {
        const std::size_t m = at.size(), weights = most_drawn;
        first.resize(m);
        if (room * weights > 8 * m) {
            for (std::size_t r = 0; r < m; ++r) whose[r] = first[r] = static_cast<std::uint32_t>(r);
            return m;
        }
        known.assign(room * weights, UINT32_MAX);
        std::uint32_t many = 0, *const place = known.data(), *const to = first.data();
        for (std::size_t r = 0; r < m; ++r) {
            std::uint32_t& own = place[at[r] * weights + w[r] - 1];
            if (own == UINT32_MAX) own = many, to[many++] = static_cast<std::uint32_t>(r);
            whose[r] = own;
        }
        first.resize(many);
        return many;
    }

    // The counts and the concentrations of a column.
    void count(int i, BitsOut& out) {
        const std::size_t V = sizes[i], m = rows.size();
        const int* parent = parents.data() + 2 * i;
        std::vector<Left> left, lower;
        std::vector<std::size_t> context(m, 0), at(m);
        std::vector<std::uint32_t> whose(m, 0), under(m), first;
        std::vector<double> n, N;
        std::size_t contexts = 1;
        for (int l = 0; l < 3 && (l == 0 || parent[l - 1] >= 0); ++l) {
            if (l > 0) {
                const std::size_t wider = sizes[parent[l - 1]];
                const auto* p = column(parent[l - 1]);
                for (std::size_t r = 0; r < m; ++r) context[r] = context[r] * wider + p[r];
                contexts *= wider;
            }
            n.assign(contexts * V * K, 0.0), N.assign(contexts * K, 0.0);
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
            const int rung = best_rung(left);
            for (auto& r : left) r.below = leaned(r.n, r.N, concentration(rung), r.below);
            out.put(rung, PARAMETER);
        }
        write_cells(n, out);
    }
};

}  // namespace

template <typename C>
Member grow_member(const CodedRows<C>& rows, const std::uint8_t* blank, const std::int64_t* first, const double* weight, const std::uint32_t* y,
                   int K, const double* bag, std::size_t most, std::uint64_t seed) {
    return Grower<C>(rows, y, K, bag, seed).grow(blank, first, weight, most);
}

template Member grow_member<std::uint8_t>(const CodedRows<std::uint8_t>&, const std::uint8_t*, const std::int64_t*, const double*,
                                          const std::uint32_t*, int, const double*, std::size_t, std::uint64_t);
template Member grow_member<std::uint16_t>(const CodedRows<std::uint16_t>&, const std::uint8_t*, const std::int64_t*, const double*,
                                           const std::uint32_t*, int, const double*, std::size_t, std::uint64_t);

}  // namespace posteriori
