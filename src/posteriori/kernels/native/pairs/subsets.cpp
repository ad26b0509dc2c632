#include "pairs/subsets.hpp"
#include "pairs/rising.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "threads.hpp"

namespace posteriori {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int kPrefix = 8;  // columns whose subsets are shared out among threads

// Zeros that take memory where they are written to: a vector writes all 2^d of them before anything looks at the clock.
template <class T>
class Zeros {
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T[], Free> held;

  public:
    explicit Zeros(std::size_t n) : held(static_cast<T*>(std::calloc(n, sizeof(T)))) {
        if (!held) throw std::bad_alloc();
    }
    T& operator[](std::size_t i) { return held[i]; }
    const T& operator[](std::size_t i) const { return held[i]; }
};
using Sums = std::vector<Zeros<double>>;

int size_of(Set s) { return __builtin_popcount(s); }

constexpr std::size_t kSmall = 32;  // weights that are counted, not listed

// Rows by cell of the set so far: group g ends at end[g]. A cell of one (merged) row cannot be divided any further; what it
// adds is summed at once, or under BDeu, where that depends on the set, each time anew.
struct Division {
    std::vector<std::uint32_t> row, weight, end;
    std::vector<double> sum;             // what the cells of one row add to each table
    std::array<double, kSmall> alone{};  // under BDeu, how many of them have a small weight,
    std::vector<std::uint32_t> heavy;    // and the larger weights

    void clear(std::size_t tables) {
        row.clear(), weight.clear(), end.clear(), heavy.clear();
        sum.assign(tables, 0.0);
        alone.fill(0.0);
    }
};

// ln Γ(a + N)/Γ(a), worked out when it is first asked for.
class Rising {
    double a = 0.0, start = 0.0;
    std::vector<double> known;

  public:
    Rising() = default;
    Rising(double a, std::size_t rows) : a(a), start(std::lgamma(a)), known(rows + 1, -1e300) {}
    double operator()(std::size_t, std::uint32_t n) {
        double& value = known[n];
        if (value == -1e300) value = log_rising(a, start, static_cast<double>(n));
        return value;
    }
};

struct Tables {
    const std::vector<const double*>& cells;
    double operator()(std::size_t t, std::uint32_t n) const { return cells[t][n]; }
};

// Numbers of the values of columns j + 1, j + 2, … together, for each row: rows that agree in them are one from there on.
std::vector<std::vector<std::uint32_t>> suffixes(const Exact& task, Watch& watch) {
    const std::size_t d = task.sizes.size();
    std::vector<std::vector<std::uint32_t>> of(d, std::vector<std::uint32_t>(task.n, 0));
    for (std::size_t j = d - 1; j-- > 0;) {
        std::unordered_map<std::uint64_t, std::uint32_t> number;
        for (std::size_t i = 0; i < task.n; ++i) {
            if (!(i & 0xffff)) watch();
            const std::uint64_t key = std::uint64_t{of[j + 1][i]} << 16 | task.codes[(j + 1) * task.n + i];
            of[j][i] = number.emplace(key, static_cast<std::uint32_t>(number.size())).first->second;
        }
    }
    return of;
}

// One thread's walk through the sets that share a prefix.
class Walk {
    const Exact& task;
    const std::vector<std::vector<std::uint32_t>>& suffix;
    const int largest;  // columns of a set
    Sums& sums;
    Watch& watch;
    std::vector<Division> levels;
    std::vector<std::uint32_t> count, place, stamp, slot;
    std::vector<double> here;
    std::unordered_map<double, Rising> gammas;  // by the configurations of a set
    std::uint32_t tag = 0;

    bool bdeu() const { return task.ess > 0.0; }

    Rising& rising(double configurations) {
        const auto found = gammas.try_emplace(configurations);
        if (found.second) found.first->second = Rising(task.ess / configurations, task.rows);
        return found.first->second;
    }

    // Divides `from` by column j: adds up the cells, and keeps them in `to` unless it is null.
    void divide(const Division& from, std::size_t j, double configurations, Division* to) {
        if (!bdeu()) return divide(from, j, Tables{task.cells}, to);
        Rising& worth = rising(configurations);
        divide(from, j, worth, to);
        for (std::size_t w = 1; w < kSmall; ++w)
            if (from.alone[w] > 0.0) here[0] += from.alone[w] * worth(0, static_cast<std::uint32_t>(w));
        for (const auto w : from.heavy) here[0] += worth(0, w);
    }

    template <typename Worth> void divide(const Division& from, std::size_t j, Worth&& worth, Division* to) {
        const std::size_t T = sums.size(), r = task.sizes[j];
        const std::uint16_t* x = task.codes + j * task.n;
        here = from.sum;
        if (to) {
            to->clear(T);
            to->alone = from.alone, to->heavy = from.heavy, to->sum = from.sum;
            to->row.resize(from.row.size()), to->weight.resize(from.row.size());
        }
        std::uint32_t begin = 0, out = 0;
        for (const std::uint32_t end : from.end) {
            std::fill_n(count.begin(), r, 0u);
            for (std::uint32_t k = begin; k < end; ++k) count[x[from.row[k]]] += from.weight[k];
            for (std::size_t v = 0; v < r; ++v)
                if (count[v])
                    for (std::size_t t = 0; t < T; ++t) here[t] += worth(t, count[v]);
            if (to) {
                std::fill_n(place.begin(), r, 0u);
                for (std::uint32_t k = begin; k < end; ++k) ++place[x[from.row[k]]];
                std::uint32_t next = out;
                for (std::size_t v = 0; v < r; ++v) {
                    const std::uint32_t many = place[v];
                    place[v] = many == 1 ? ~0u : next;
                    if (many < 2) continue;
                    next += many;
                    to->end.push_back(next);
                }
                for (std::uint32_t k = begin; k < end; ++k) {
                    auto& at = place[x[from.row[k]]];
                    if (at == ~0u) {
                        keep(*to, from.weight[k]);
                        continue;
                    }
                    to->row[at] = from.row[k], to->weight[at++] = from.weight[k];
                }
                out = next;
            }
            begin = end;
        }
        if (to) to->row.resize(out), to->weight.resize(out);
    }

    // A cell that has come down to one row.
    void keep(Division& to, std::uint32_t weight) const {
        if (!bdeu())
            for (std::size_t t = 0; t < sums.size(); ++t) to.sum[t] += task.cells[t][weight];
        else if (weight < kSmall)
            to.alone[weight] += 1.0;
        else
            to.heavy.push_back(weight);
    }

    // Rows of one cell that agree in all columns after j become one.
    void merge(Division& d, std::size_t j) {
        std::uint32_t begin = 0, out = 0;
        std::size_t groups = 0;
        for (std::size_t g = 0; g < d.end.size(); ++g) {
            const std::uint32_t end = d.end[g], first = out;
            ++tag;
            for (std::uint32_t k = begin; k < end; ++k) {
                const std::uint32_t id = suffix[j][d.row[k]];
                if (stamp[id] == tag) {
                    d.weight[slot[id]] += d.weight[k];
                    continue;
                }
                stamp[id] = tag, slot[id] = out;
                d.row[out] = d.row[k], d.weight[out] = d.weight[k];
                ++out;
            }
            begin = end;
            if (out - first == 1)
                keep(d, d.weight[--out]);
            else
                d.end[groups++] = out;
        }
        d.end.resize(groups), d.row.resize(out), d.weight.resize(out);
    }

    void store(Set set) {
        for (std::size_t t = 0; t < sums.size(); ++t) sums[t][set] = here[t];
    }

  public:
    Walk(const Exact& task, const std::vector<std::vector<std::uint32_t>>& suffix, int largest,
         Sums& sums, Watch& watch)
        : task(task), suffix(suffix), largest(largest), sums(sums), watch(watch), levels(task.sizes.size() + 1), stamp(task.n, 0),
          slot(task.n, 0) {
        const auto widest = *std::max_element(task.sizes.begin(), task.sizes.end());
        count.resize(widest), place.resize(widest);
    }

    // All sets whose part among the first `prefix` columns is `part`.
    void from(Set part, int prefix) {
        Division& all = levels[0];
        all.clear(sums.size());
        for (std::size_t i = 0; i < task.n; ++i) all.row.push_back(static_cast<std::uint32_t>(i)), all.weight.push_back(task.weights[i]);
        all.end.push_back(static_cast<std::uint32_t>(task.n));
        std::size_t level = 0;
        double configurations = 1.0;
        here.assign(sums.size(), 0.0);
        const auto rows = static_cast<std::uint32_t>(task.rows);
        for (std::size_t t = 0; t < sums.size(); ++t) here[t] = bdeu() ? rising(1.0)(t, rows) : task.cells[t][rows];
        for (int j = 0; j < prefix; ++j)
            if (part >> j & 1) {
                configurations *= task.sizes[static_cast<std::size_t>(j)];
                watch();
                divide(levels[level], static_cast<std::size_t>(j), configurations, &levels[level + 1]);
                ++level;
            }
        store(part);
        if (level) merge(levels[level], static_cast<std::size_t>(prefix) - 1);
        visit(level, part, prefix, configurations);
    }

    void visit(std::size_t level, Set set, int next, double configurations) {
        if (size_of(set) == largest) return;
        const int d = static_cast<int>(task.sizes.size());
        for (int j = next; j < d; ++j) {
            const Set wider = set | Set{1} << j;
            watch();
            const bool deeper = j + 1 < d && size_of(wider) < largest;
            const double more = configurations * task.sizes[static_cast<std::size_t>(j)];
            divide(levels[level], static_cast<std::size_t>(j), more, deeper ? &levels[level + 1] : nullptr);
            store(wider);
            if (!deeper) continue;
            merge(levels[level + 1], static_cast<std::size_t>(j));
            visit(level + 1, wider, j + 1, more);
        }
    }
};

struct Choice {
    Set parents;
    double score;
};

// The sets of parents of v that beat all their subsets, the best first.
std::vector<Choice> choices(const Exact& task, const Sums& sums, int v, int most, Watch& watch) {
    const int d = static_cast<int>(task.sizes.size());
    const Set low = (Set{1} << v) - 1, own = Set{1} << v;
    const std::size_t many = std::size_t{1} << (d - 1);
    const double price = task.price * (task.sizes[static_cast<std::size_t>(v)] - 1.0);
    const auto& below = sums[static_cast<std::size_t>(task.below[static_cast<std::size_t>(v)])];
    const Set must = task.required[static_cast<std::size_t>(v)], never = task.forbidden[static_cast<std::size_t>(v)];
    Zeros<double> best(many);  // of no set before its subsets
    std::vector<Choice> found;
    for (std::size_t k = 0; k < many; ++k) {
        if (!(k & 0xffff)) watch();
        const Set packed = static_cast<Set>(k), set = (packed & low) | (packed & ~low) << 1;
        if (size_of(set) > most) continue;
        double top = kNever, q = 1.0;
        for (Set left = packed; left; left &= left - 1) top = std::max(top, best[packed & ~(left & (0 - left))]);
        if (!(set & never) && (set & must) == must) {
            if (price > 0.0)
                for (Set left = set; left; left &= left - 1) q *= task.sizes[static_cast<std::size_t>(__builtin_ctz(left))];
            const double score = sums[0][set | own] - below[set] - price * q;
            if (score > top + task.equal || top == kNever) {
                found.push_back({set, score});
                top = score;
            }
        }
        best[k] = top;
    }
    std::stable_sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) { return a.score > b.score; });
    return found;
}

// The largest number of parents that can pay: a likelihood is at most 0, and a set must beat what is required alone.
int most_that_pay(const Exact& task, const std::vector<std::vector<double>>& singles) {
    const int d = static_cast<int>(task.sizes.size());
    int most = 0;
    for (int v = 0; v < d; ++v) {
        std::vector<double> others;
        for (int u = 0; u < d; ++u)
            if (u != v) others.push_back(task.sizes[static_cast<std::size_t>(u)]);
        std::sort(others.begin(), others.end());
        const double price = task.price * (task.sizes[static_cast<std::size_t>(v)] - 1.0);
        double q = 1.0;
        for (Set left = task.required[static_cast<std::size_t>(v)]; left; left &= left - 1)
            q *= task.sizes[static_cast<std::size_t>(__builtin_ctz(left))];
        const double alone = singles[0][static_cast<std::size_t>(v)] - singles[1][0] - price * q;
        q = 1.0;
        int k = 0;
        while (k < d - 1 && price * q * others[static_cast<std::size_t>(k)] < -alone) q *= others[static_cast<std::size_t>(k)], ++k;
        most = std::max({most, k, size_of(task.required[static_cast<std::size_t>(v)])});
    }
    return std::min(most, task.most);
}

}  // namespace

double best_network(const Exact& task, std::vector<Set>& parents, int threads, Poll poll) {
    const int d = static_cast<int>(task.sizes.size()), prefix = std::min(kPrefix, d);
    const std::size_t all = std::size_t{1} << d;
    Watch watch(poll);
    int most = std::min(task.most, d - 1);
    if (task.price > 0.0 && task.n) {
        std::vector<std::vector<double>> singles{std::vector<double>(static_cast<std::size_t>(d)), {task.cells[0][task.rows]}};
        for (std::size_t v = 0; v < static_cast<std::size_t>(d); ++v) {
            std::vector<std::uint32_t> count(task.sizes[v], 0);
            for (std::size_t i = 0; i < task.n; ++i) count[task.codes[v * task.n + i]] += task.weights[i];
            for (const auto c : count) singles[0][v] += task.cells[0][c];
        }
        most = most_that_pay(task, singles);
    }
    Sums sums;
    for (std::size_t t = 0; t < task.cells.size(); ++t) sums.emplace_back(all);
    {
        const auto suffix = suffixes(task, watch);
        std::mutex guard;
        std::vector<std::unique_ptr<Walk>> idle;  // a walk keeps what it has worked out for the next part
        parallel_for(std::size_t{1} << prefix, threads, [&](std::size_t part) {
            if (size_of(static_cast<Set>(part)) > most + 1) return;
            std::unique_ptr<Walk> walk;
            {
                std::lock_guard<std::mutex> hold(guard);
                if (!idle.empty()) walk = std::move(idle.back()), idle.pop_back();
            }
            if (!walk) walk = std::make_unique<Walk>(task, suffix, most + 1, sums, watch);
            walk->from(static_cast<Set>(part), prefix);
            std::lock_guard<std::mutex> hold(guard);
            idle.push_back(std::move(walk));
        });
    }
    std::vector<std::vector<Choice>> lists(static_cast<std::size_t>(d));
    parallel_for(static_cast<std::size_t>(d), threads, [&](std::size_t v) {
        lists[v] = choices(task, sums, static_cast<int>(v), most, watch);
    });
    sums.clear(), sums.shrink_to_fit();
    const auto choice = [&](std::size_t v, Set allowed) -> const Choice* {
        for (const auto& c : lists[v])
            if (!(c.parents & ~allowed)) return &c;
        return nullptr;
    };
    Zeros<double> best(all);
    Zeros<std::uint8_t> sink(all);
    best[0] = 0.0;
    for (std::size_t w = 1; w < all; ++w) {
        if (!(w & 0xffff)) watch();
        best[w] = kNever;
        for (Set left = static_cast<Set>(w); left; left &= left - 1) {
            const auto v = static_cast<std::size_t>(__builtin_ctz(left));
            const Set rest = static_cast<Set>(w) & ~(Set{1} << v);
            if (best[rest] == kNever) continue;
            const Choice* c = choice(v, rest);
            if (c && best[rest] + c->score > best[w] + (best[w] == kNever ? 0.0 : task.equal)) best[w] = best[rest] + c->score, sink[w] = static_cast<std::uint8_t>(v);
        }
    }
    parents.assign(static_cast<std::size_t>(d), 0);
    if (best[all - 1] == kNever) return kNever;
    for (Set w = static_cast<Set>(all - 1); w;) {
        const std::size_t v = sink[w];
        w &= ~(Set{1} << v);
        parents[v] = choice(v, w)->parents;
    }
    return best[all - 1];
}

}  // namespace posteriori
