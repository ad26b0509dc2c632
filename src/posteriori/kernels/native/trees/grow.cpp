// Growing a tree: at each node the split of largest gain among the columns looked at.
//
// With N = Σ_c n_c, the information of a node is I = N ln N − Σ_c n_c ln n_c and a split gains I − I_left − I_right; Gini's
// is N − Σ n_c²/N. Rows move from right to left in the order of their codes, and only the sums they touch are renewed. Named values
// are parted in all ways where these are few, else in the order of the share of each class in turn: the best of two classes is there.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "network/xoshiro.hpp"
#include "sides.hpp"
#include "trees.hpp"

namespace posteriori {

namespace {

constexpr std::size_t LOOK = 1 << 20;  // rows of columns between two looks at signals

struct Split {
    double value = 0;
    int column = -1;
    std::int32_t cut = 0;             // ordered
    std::vector<std::int32_t> values;  // named: those on the left
};

template <typename C> class Grower {
    const CodedRows<C>& data;
    const Growth how;
    const int K;
    Xoshiro random;
    std::size_t seen_rows = 0;  // since signals were last looked at
    CountTree tree;
    std::vector<std::int32_t> rows, scratch;  // rows of a node lie side by side,
    std::vector<std::uint32_t> classes, class_scratch;
    std::vector<double> mass, mass_scratch;   // and so do their classes and weights
    std::vector<int> columns;
    std::vector<double> cells;               // [code][class] of an ordered column
    std::vector<std::int32_t> ends;          // places of codes
    std::vector<std::uint64_t> sorted;       // code and place of a node's rows, in the order of codes
    struct Heap {
        std::int32_t value, from, to;  // and its piles
        double weight;
    };
    struct Pile {
        std::uint32_t of;
        std::int32_t heap, before;  // the pile of the same class before it, or −1
        double weight;
    };
    std::vector<Heap> heaps;                 // of a node's rows, by the value of a named column,
    std::vector<Pile> piles;                 // and within a value by class
    std::vector<std::int32_t> last_pile;     // of a class
    std::vector<std::pair<double, std::int32_t>> order;  // of heaps, by the share of a class
    Sides sides;

  public:
    Grower(const CodedRows<C>& data, const std::uint32_t* y, int K, const double* weights, const Growth& how, std::uint64_t seed,
           bool whole, const double* logs)
        : data(data), how(how), K(K), random(seed), sides(K, how.criterion == Criterion::gini, whole, logs) {
        for (std::size_t r = 0; r < data.n; ++r) {
            const double w = weights ? weights[r] : 1.0;
            if (w > 0) rows.push_back(static_cast<std::int32_t>(r)), classes.push_back(y[r]), mass.push_back(w);
        }
        columns.resize(data.d());
        for (int j = 0; j < data.d(); ++j) columns[j] = j;
        std::int32_t widest = 0, longest = 0;  // of all columns, and of those that are ordered
        for (int j = 0; j < data.d(); ++j) {
            widest = std::max(widest, data.sizes[j]);
            if (!data.named[j]) longest = std::max(longest, data.sizes[j]);
        }
        cells.resize(static_cast<std::size_t>(longest) * K);
        ends.resize(static_cast<std::size_t>(widest) + 1), last_pile.resize(K, -1);
        sorted.resize(rows.size()), scratch.resize(rows.size()), class_scratch.resize(rows.size()), mass_scratch.resize(rows.size());
    }

    CountTree grow(Watch& watch) {
        struct Job {
            std::int32_t node, from, to, depth;
        };
        std::vector<Job> jobs{{add(0, static_cast<std::int32_t>(rows.size())), 0, static_cast<std::int32_t>(rows.size()), 0}};
        while (!jobs.empty()) {
            const Job job = jobs.back();
            jobs.pop_back();
            if (job.depth >= how.max_depth || job.to - job.from < 2) continue;
            const Split split = best(job.node, job.from, job.to, watch);
            if (split.column < 0) continue;
            const std::int32_t middle = part(split, job.node, job.from, job.to);
            const std::int32_t child = add(job.from, middle);
            add(middle, job.to);
            tree.child[job.node] = child;
            jobs.push_back({child + 1, middle, job.to, job.depth + 1});
            jobs.push_back({child, job.from, middle, job.depth + 1});
        }
        return std::move(tree);
    }

  private:
    std::int32_t add(std::int32_t from, std::int32_t to) {
        tree.column.push_back(-1), tree.cut.push_back(0), tree.child.push_back(0);
        const std::size_t at = tree.counts.size();
        tree.counts.resize(at + K, 0.0);
        for (std::int32_t i = from; i < to; ++i) tree.counts[at + classes[i]] += mass[i];
        return static_cast<std::int32_t>(tree.column.size()) - 1;
    }

    Split best(std::int32_t node, std::int32_t from, std::int32_t to, Watch& watch) {
        const double* counts = tree.counts.data() + static_cast<std::size_t>(node) * K;
        double n = 0, most = 0;
        for (int c = 0; c < K; ++c) n += counts[c], most = std::max(most, counts[c]);
        Split found;
        if (most >= n || n < 2 * how.least) return found;  // all of one class
        const double whole = sides.enter(counts, n);
        const double base = how.criterion == Criterion::gini ? whole / n : whole - sides.g(n);  // the worth of no split
        const int d = data.d();
        const int wanted = how.tried > 0 ? std::min(how.tried, d) : d;
        const bool all = how.tried == 0 && how.criterion != Criterion::ratio;
        const double enough = all ? sides.most(counts) - base - 1e-13 * n : std::numeric_limits<double>::infinity();
        int tried = 0;
        for (int k = 0; k < d && (tried < wanted || found.column < 0); ++k) {
            if (found.column >= 0 && found.value >= enough) break;  // no column has a better one
            if ((seen_rows += static_cast<std::size_t>(to - from)) > LOOK) seen_rows = 0, watch();
            if (how.tried > 0) std::swap(columns[k], columns[k + static_cast<int>(random.next() % (d - k))]);
            tried += look(columns[k], counts, n, base, from, to, found);
        }
        return found;
    }

    // Whether the column has two values at all in the node; a better split of it is written to `found`.
    bool look(int j, const double* counts, double n, double base, std::int32_t from, std::int32_t to, Split& found) {
        const C* codes = data.column(j);
        const C first = codes[rows[from]];
        std::int32_t i = from + 1;
        while (i < to && codes[rows[i]] == first) ++i;
        if (i == to) return false;
        if (data.named[j])
            named(j, codes, counts, n, base, from, to, found);
        else
            ordered(j, codes, counts, n, base, from, to, found);
        return true;
    }

    void judge(int j, double n, double base, Split& found, std::int32_t low, std::int32_t high) {
        if (!(sides.n_left > 0) || !(sides.n_right > 0) || sides.n_left < how.least || sides.n_right < how.least) return;
        double value = sides.worth() - base;
        if (how.criterion == Criterion::ratio) value = value > 1e-12 * n ? n * value / sides.information(n) : 0.0;
        if (value > found.value + 1e-12 * n || (found.column < 0 && value >= found.value - 1e-12 * n)) {
            found.value = std::max(value, found.value), found.column = j, found.cut = (low + high - (high > low)) / 2;
            if (how.drawn && high > low + 1) found.cut = low + static_cast<std::int32_t>(random.next() % (high - low));
        }
    }

    void ordered(int j, const C* codes, const double* counts, double n, double base, std::int32_t from, std::int32_t to, Split& found) {
        const std::int32_t size = data.sizes[j], m = to - from;
        sides.start(counts, n);
        std::int32_t before = -1;
        if (static_cast<std::size_t>(m) * 2 >= static_cast<std::size_t>(size) * K) {
            std::fill(cells.begin(), cells.begin() + static_cast<std::size_t>(size) * K, 0.0);
            for (std::int32_t i = from; i < to; ++i) cells[static_cast<std::size_t>(codes[rows[i]]) * K + classes[i]] += mass[i];
            for (std::int32_t v = 0; v < size; ++v) {
                const double* cell = cells.data() + static_cast<std::size_t>(v) * K;
                const auto& there = sides.present();
                if (std::none_of(there.begin(), there.end(), [&](int c) { return cell[c] > 0; })) continue;
                if (before >= 0) judge(j, n, base, found, before, v);
                for (const int c : there)
                    if (cell[c] > 0) sides.move(static_cast<std::uint32_t>(c), cell[c]);
                before = v;
            }
            return;
        }
        in_order(codes, size, from, to);
        for (std::int32_t i = 0; i < m; ++i) {
            const std::int32_t v = code_of(i), r = place_of(i);
            if (v != before && before >= 0) judge(j, n, base, found, before, v);
            sides.move(classes[r], mass[r]);
            before = v;
        }
    }

    std::int32_t code_of(std::int32_t i) const { return static_cast<std::int32_t>(sorted[i] >> 32); }
    std::int32_t place_of(std::int32_t i) const { return static_cast<std::int32_t>(sorted[i] & 0xffffffffu); }

    // The node's rows into `sorted`, by code, those of one code in their order.
    void in_order(const C* codes, std::int32_t size, std::int32_t from, std::int32_t to) {
        const std::int32_t m = to - from;
        const auto key = [&](std::int32_t i) { return static_cast<std::uint64_t>(codes[rows[i]]) << 32 | static_cast<std::uint32_t>(i); };
        if (m <= 24 && m * 2 < size) {
            for (std::int32_t i = 0; i < m; ++i) {
                const std::uint64_t own = key(from + i);
                std::int32_t k = i;
                for (; k > 0 && sorted[k - 1] > own; --k) sorted[k] = sorted[k - 1];
                sorted[k] = own;
            }
        } else if (m * 4 < size) {
            for (std::int32_t i = 0; i < m; ++i) sorted[i] = key(from + i);
            std::sort(sorted.begin(), sorted.begin() + m);
        } else {
            std::fill(ends.begin(), ends.begin() + size + 1, 0);
            for (std::int32_t i = from; i < to; ++i) ++ends[codes[rows[i]] + 1];
            for (std::int32_t v = 0; v < size; ++v) ends[v + 1] += ends[v];
            for (std::int32_t i = from; i < to; ++i) sorted[ends[codes[rows[i]]]++] = key(i);
        }
    }

    // The node's rows by value and class: `heaps` of the values that are there, each with its classes in `piles`.
    void sort_out(const C* codes, std::int32_t size, std::int32_t from, std::int32_t to) {
        in_order(codes, size, from, to);
        heaps.clear(), piles.clear();
        for (const int c : sides.present()) last_pile[c] = -1;
        for (std::int32_t i = 0; i < to - from; ++i) {
            const std::int32_t v = code_of(i), r = place_of(i);
            if (heaps.empty() || heaps.back().value != v) heaps.push_back({v, static_cast<std::int32_t>(piles.size()), 0, 0.0});
            std::int32_t& at = last_pile[classes[r]];
            if (at < heaps.back().from) {
                piles.push_back({classes[r], static_cast<std::int32_t>(heaps.size()) - 1, at, 0.0});
                at = static_cast<std::int32_t>(piles.size()) - 1;
            }
            piles[at].weight += mass[r];
            heaps.back().to = static_cast<std::int32_t>(piles.size()), heaps.back().weight += mass[r];
        }
    }

    // A heap to the left, or with −1 back to the right.
    void shift(const Heap& heap, double way) {
        for (std::int32_t p = heap.from; p < heap.to; ++p) sides.move(piles[p].of, way * piles[p].weight);
    }

    void named(int j, const C* codes, const double* counts, double n, double base, std::int32_t from, std::int32_t to, Split& found) {
        sort_out(codes, data.sizes[j], from, to);
        const auto& there = sides.present();
        const std::size_t m = heaps.size(), k = there.size();
        if (how.drawn) {
            const auto c = K == 2 ? 0u : static_cast<std::uint32_t>(random.pick([&](auto i) { return counts[i]; }, K, n));
            in_turn(j, c, counts, n, base, found);
        } else if (k == 2) {
            in_turn(j, static_cast<std::uint32_t>(there[1]), counts, n, base, found);  // one is the other from below
        } else if (m <= 32 && (std::size_t{1} << (m - 1)) - 1 <= (m - 1) * k) {
            in_all_ways(j, counts, n, base, found);
        } else {
            for (const int c : there) in_turn(j, static_cast<std::uint32_t>(c), counts, n, base, found);
        }
    }

    // The values that have class c, from its largest share down; if it is drawn all values, from the smallest up.
    void in_turn(int j, std::uint32_t c, const double* counts, double n, double base, Split& found) {
        order.clear();
        for (std::size_t h = 0; how.drawn && h < heaps.size(); ++h) order.push_back({0.0, static_cast<std::int32_t>(h)});
        for (std::int32_t p = last_pile[c]; p >= 0; p = piles[p].before) {
            const double share = piles[p].weight / heaps[piles[p].heap].weight;
            if (how.drawn)
                order[piles[p].heap].first = share;
            else
                order.push_back({-share, piles[p].heap});
        }
        std::sort(order.begin(), order.end());
        sides.start(counts, n);
        for (std::size_t i = 0; i < order.size() && i + 1 < heaps.size(); ++i) {
            shift(heaps[order[i].second], 1);
            if (!better(j, n, base, found)) continue;
            for (std::size_t q = 0; q <= i; ++q) found.values.push_back(heaps[order[q].second].value);
        }
    }

    // Every way to part few values, from each to the next by one of them: the last stays on the right.
    void in_all_ways(int j, const double* counts, double n, double base, Split& found) {
        sides.start(counts, n);
        for (std::uint32_t i = 1; i < std::uint32_t{1} << (heaps.size() - 1); ++i) {
            const std::uint32_t on_left = i ^ (i >> 1);  // Gray's code
            std::size_t moved = 0;
            while (!(i >> moved & 1)) ++moved;
            shift(heaps[moved], on_left >> moved & 1 ? 1 : -1);
            if (!better(j, n, base, found)) continue;
            for (std::size_t h = 0; h + 1 < heaps.size(); ++h)
                if (on_left >> h & 1) found.values.push_back(heaps[h].value);
        }
    }

    // Whether the split is the best so far, whose values are to be written.
    bool better(int j, double n, double base, Split& found) {
        const double before = found.column == j ? found.value : -1;
        const int was = found.column;
        judge(j, n, base, found, 0, 0);
        if (found.column != j || (was == j && found.value == before)) return false;
        found.values.clear();
        return true;
    }

    // Writes the split into its node and parts the rows; where the right side begins.
    std::int32_t part(const Split& split, std::int32_t node, std::int32_t from, std::int32_t to) {
        const C* codes = data.column(split.column);
        tree.column[node] = split.column;
        std::int32_t left = from, right = 0;
        const auto send = [&](bool goes, std::int32_t i) {
            const auto r = rows[i];
            const auto c = classes[i];
            const auto w = mass[i];
            if (goes)
                rows[left] = r, classes[left] = c, mass[left++] = w;
            else
                scratch[right] = r, class_scratch[right] = c, mass_scratch[right++] = w;
        };
        if (!data.named[split.column]) {
            tree.cut[node] = split.cut;
            for (std::int32_t i = from; i < to; ++i) send(codes[rows[i]] <= split.cut, i);
        } else {
            const std::size_t words = (static_cast<std::size_t>(data.sizes[split.column]) + 63) / 64, at = tree.bits.size();
            tree.cut[node] = static_cast<std::int32_t>(at);
            tree.bits.resize(at + 2 * words, 0);
            for (const auto v : split.values) tree.bits[at + v / 64] |= std::uint64_t{1} << (v % 64);
            for (std::int32_t i = from; i < to; ++i) {
                const std::size_t v = codes[rows[i]];
                tree.bits[at + words + v / 64] |= std::uint64_t{1} << (v % 64);
                send(tree.bits[at + v / 64] >> (v % 64) & 1, i);
            }
        }
        std::copy_n(scratch.begin(), right, rows.begin() + left);
        std::copy_n(class_scratch.begin(), right, classes.begin() + left);
        std::copy_n(mass_scratch.begin(), right, mass.begin() + left);
        return left;
    }
};

}  // namespace

template <typename C>
CountTree grow_tree(const CodedRows<C>& data, const std::uint32_t* y, int K, const double* weights, const Growth& how, std::uint64_t seed, Watch& watch) {
    static const Table logs;
    bool whole = true;
    for (std::size_t r = 0; weights && r < data.n && whole; ++r) whole = weights[r] == std::floor(weights[r]) && weights[r] < 1e15;
    return Grower<C>(data, y, K, weights, how, seed, whole, logs.of).grow(watch);
}

void draw_bag(std::size_t n, const double* running, std::uint64_t seed, double* counts) {
    Xoshiro random(seed ^ 0x9d5c0fb1e3a7u);
    std::fill(counts, counts + n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t r = 0;
        if (running)
            r = std::min<std::size_t>(n - 1, std::upper_bound(running, running + n, random.uniform() * running[n - 1]) - running);
        else
            r = static_cast<std::size_t>((static_cast<unsigned __int128>(random.next()) * n) >> 64);
        counts[r] += 1;
    }
}

template CountTree grow_tree<std::uint8_t>(const CodedRows<std::uint8_t>&, const std::uint32_t*, int, const double*, const Growth&, std::uint64_t, Watch&);
template CountTree grow_tree<std::uint16_t>(const CodedRows<std::uint16_t>&, const std::uint32_t*, int, const double*, const Growth&, std::uint64_t, Watch&);

}  // namespace posteriori
