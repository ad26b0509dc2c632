// One boosted tree: at each node the split of largest gain among the columns looked at.
//
// Where a node has many rows for its cells, the sums of all its columns are kept: its smaller child is summed, the larger
// one is what remains. Where it has few, a column is summed when it is looked at. Sums are whole, so both are the same.
#include <algorithm>
#include <cmath>

#include "boost.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {

constexpr std::size_t NEAR = 32768;       // bytes of sums that stay near
constexpr int FEWEST = 8;                 // columns side by side at least
constexpr std::size_t ROOM = 64u << 20;   // bytes of sums that a tree may keep
constexpr int AHEAD = 12;                 // rows whose codes are fetched before they are needed
constexpr double NOTHING = 1e-9;          // a gain that is rounding

int bits(std::size_t n) {
    int found = 0;
    for (; n > 0; n >>= 1) ++found;
    return found;
}

}  // namespace

Slopes::Slopes(std::size_t n, int V) : of(n * V), V(V), shift(62 - bits(n)) { bits_of_h = std::min(30, shift - bits(n)); }

void Slopes::bound(double g, double h) {
    per_g = 0x1p30 / g, unit_g = g / 0x1p30;
    const double most = static_cast<double>((std::int64_t{1} << bits_of_h) - 1);
    per_h = most / h, unit_h = h / most;
}

void Slopes::set(std::size_t r, int v, double g, double h) {
    const double x = g * per_g;
    of[r * V + v] = {static_cast<std::int32_t>(x + (x < 0 ? -0.5 : 0.5)), std::max(1, static_cast<std::int32_t>(h * per_h + 0.5))};
}

template <typename C> Tiles<C>::Tiles(const CodedRows<C>& rows, int V, const Boosting& how, int threads) {
    const int d = rows.d();
    cells.push_back(0);
    for (const auto size : rows.sizes) cells.push_back(cells.back() + size);
    const std::size_t bytes = cells.back() * V * sizeof(Sums);
    worth = bytes * std::min(how.depth + 1, 16) <= ROOM && cells.back() < rows.n * d;
    if (!worth) return;
    codes.resize(rows.n * d);
    for (int first = 0; first < d;) {
        int last = first + 1;
        while (last < d && ((cells[last + 1] - cells[first]) * V * sizeof(Sums) <= NEAR || last - first < FEWEST)) ++last;
        tiles.push_back({first, last, rows.n * first});
        first = last;
    }
    parallel_for(tiles.size(), threads, [&](std::size_t t) {
        const auto [first, last, start] = tiles[t];
        const std::size_t width = last - first;
        for (std::size_t from = 0; from < rows.n; from += 1024)  // rows that stay near while each column is laid among them
            for (int j = first; j < last; ++j) {
                const C* column = rows.column(j);
                C* to = codes.data() + start + (j - first);
                for (std::size_t r = from, end = std::min(rows.n, from + 1024); r < end; ++r) to[r * width] = column[r];
            }
    });
}

template <typename C> struct BoostGrower<C>::Work {
    struct Job {
        std::int32_t node, from, to, depth, room;  // room: the place of its sums, or −1
    };
    struct Split {
        double gain = NOTHING;
        int column = -1;
        std::int32_t cut = 0;
        std::vector<std::int32_t> values;  // named: those on the left
        std::vector<Sums> left;
    };
    struct Value {
        std::int32_t code;
        const Sums* sums;
        double order;
    };

    const CodedRows<C>& data;
    const Tiles<C>& tiles;
    const int V;
    const Boosting how;

    std::vector<std::int32_t>* rows = nullptr;
    const Slopes* slopes = nullptr;
    Xoshiro* random = nullptr;
    int threads = 1;
    BoostedTree made;
    std::vector<double> value;  // [node][value]
    std::vector<Sums> sums;     // [node][value]
    std::vector<std::int32_t> scratch;
    std::vector<int> columns;
    std::vector<std::vector<Sums>> rooms;
    std::vector<std::int32_t> idle;
    std::vector<std::int32_t> slot;  // of a code, among the cells of one column; −1
    std::vector<Sums> own;           // those cells
    std::vector<Value> seen;
    std::vector<Sums> left;
    std::vector<double> gains, G, H;  // of each place between two values
    std::vector<double> squares;  // Σ g² of a node's rows by value; −1: not yet summed
    Split found;

    Work(const CodedRows<C>& data, const Tiles<C>& tiles, int V, const Boosting& how)
        : data(data), tiles(tiles), V(V), how(how), columns(data.d()), left(V), squares(V) {
        for (int j = 0; j < data.d(); ++j) columns[j] = j;
        slot.assign(*std::max_element(data.sizes.begin(), data.sizes.end()), -1);
        found.left.resize(V);
    }

    void grow(std::vector<Leaf>& leaves, Watch& watch) {
        const auto n = static_cast<std::int32_t>(rows->size());
        made = {}, value.clear(), sums.clear(), scratch.resize(n);
        left.assign(V, Sums{});
        for (const auto r : *rows)
            for (int v = 0; v < V; ++v) left[v] += slopes->sums(r, v);
        add(left.data(), nullptr);
        std::vector<Job> jobs{{0, 0, n, 0, -1}};
        if (tiles.worth && splits(jobs[0]) && many(n)) fill<false>(0, n, rooms[jobs[0].room = take()].data());
        while (!jobs.empty()) {
            watch();
            const Job job = jobs.back();
            jobs.pop_back();
            if (splits(job)) look(job);
            if (!splits(job) || found.column < 0) {
                leaves.push_back({job.node, job.from, job.to});
                give(job.room);
                continue;
            }
            const std::int32_t middle = part(job);
            Job one{static_cast<std::int32_t>(made.tree.column.size()), job.from, middle, job.depth + 1, -1};
            Job two{one.node + 1, middle, job.to, job.depth + 1, -1};
            made.tree.child[job.node] = one.node;
            made.gains[job.node] = static_cast<float>(found.gain);
            left = found.left;
            add(left.data(), &job);
            for (int v = 0; v < V; ++v) {
                const Sums taken = left[v];
                left[v] = sums[static_cast<std::size_t>(job.node) * V + v];
                left[v] -= taken;
            }
            add(left.data(), &job);
            hand_down(job, one, two);
            jobs.push_back(two);
            jobs.push_back(one);
        }
    }

    bool splits(const Job& job) const { return job.depth < how.depth && job.to - job.from >= 2 * how.least; }

    // Whether the sums of all columns are cheaper than those that a node looks at, one at a time.
    bool many(std::int32_t m) const { return static_cast<std::size_t>(m) * data.d() > tiles.cells.back(); }

    std::int32_t take() {
        if (idle.empty()) {
            idle.push_back(static_cast<std::int32_t>(rooms.size()));
            rooms.emplace_back(tiles.cells.back() * V);
        }
        const std::int32_t room = idle.back();
        idle.pop_back();
        std::fill(rooms[room].begin(), rooms[room].end(), Sums{});
        return room;
    }

    void give(std::int32_t room) {
        if (room >= 0) idle.push_back(room);
    }

    // The sums of both children from those of their parent.
    void hand_down(const Job& job, Job& one, Job& two) {
        if (job.room < 0) return;
        Job &small = two.to - two.from < one.to - one.from ? two : one, &large = &small == &one ? two : one;
        if (!splits(large) || !many(large.to - large.from)) return give(job.room);
        if (splits(small) && many(small.to - small.from)) {
            small.room = take();
            Sums *mine = rooms[small.room].data(), *theirs = rooms[job.room].data();
            fill<false>(small.from, small.to, mine);
            for (std::size_t c = 0; c < rooms[job.room].size(); ++c) theirs[c] -= mine[c];
        } else {
            fill<true>(small.from, small.to, rooms[job.room].data());
        }
        large.room = job.room;
    }

    // The rows' g and h to (or from) the cells of all columns. A number of values that the compiler knows is twice as fast.
    template <bool minus> void fill(std::int32_t from, std::int32_t to, Sums* cells) {
        switch (V) {
            case 1: return fill<minus, 1>(from, to, cells);
            case 3: return fill<minus, 3>(from, to, cells);
            case 4: return fill<minus, 4>(from, to, cells);
            case 5: return fill<minus, 5>(from, to, cells);
            case 6: return fill<minus, 6>(from, to, cells);
            case 7: return fill<minus, 7>(from, to, cells);
            case 8: return fill<minus, 8>(from, to, cells);
            case 10: return fill<minus, 10>(from, to, cells);
            default: return fill<minus, 0>(from, to, cells);
        }
    }

    template <bool minus, int KNOWN> void fill(std::int32_t from, std::int32_t to, Sums* cells) {
        const int values = KNOWN > 0 ? KNOWN : V;
        const bool large = static_cast<std::size_t>(to - from) * data.d() * V > 200'000;
        parallel_for(tiles.tiles.size(), large ? threads : 1, [&](std::size_t t) {
            const auto [first, last, start] = tiles.tiles[t];
            const int width = last - first;
            const C* codes = tiles.codes.data() + start;
            const std::size_t* base = tiles.cells.data() + first;
            const std::int32_t* list = rows->data();
            std::vector<Sums> room(values);
            Sums* const mine = room.data();
            for (std::int32_t i = from; i < to; ++i) {
                if (i + AHEAD < to) {
                    __builtin_prefetch(codes + static_cast<std::size_t>(list[i + AHEAD]) * width);
                    slopes->fetch(list[i + AHEAD]);
                }
                const std::size_t r = list[i];
                const C* row = codes + r * width;
                for (int v = 0; v < values; ++v) mine[v] = slopes->sums(r, v);
                for (int j = 0; j < width; ++j) {
                    Sums* __restrict cell = cells + (base[j] + row[j]) * values;
                    const Sums* __restrict own = mine;
                    for (int v = 0; v < values; ++v) {
                        if (minus)
                            cell[v] -= own[v];
                        else
                            cell[v] += own[v];
                    }
                }
            }
        });
    }

    void add(const Sums* total, const Job* above) {
        made.tree.column.push_back(-1), made.tree.cut.push_back(0), made.tree.child.push_back(0), made.gains.push_back(0);
        for (int v = 0; v < V; ++v) {
            const double parent = above ? value[static_cast<std::size_t>(above->node) * V + v] : 0.0;
            const double own = (how.lambda * parent - slopes->G(total[v])) / (slopes->H(total[v]) + how.lambda);
            value.push_back(own), sums.push_back(total[v]);
            made.values.push_back(static_cast<float>(how.rate * own));
        }
    }

    // The best split of a node into `found`.
    void look(const Job& job) {
        const Sums* total = sums.data() + static_cast<std::size_t>(job.node) * V;
        double base = 0;
        for (int v = 0; v < V; ++v) {
            const double G = slopes->G(total[v]);
            base += G * G / (slopes->H(total[v]) + how.lambda);
        }
        std::fill(squares.begin(), squares.end(), -1.0);
        found.gain = NOTHING, found.column = -1;
        const int d = data.d(), wanted = how.tried > 0 ? std::min(how.tried, d) : d;
        for (int k = 0; k < d && (k < wanted || found.column < 0); ++k) {
            if (how.tried > 0) std::swap(columns[k], columns[k + static_cast<int>(random->next() % (d - k))]);
            const int j = columns[k];
            job.room >= 0 ? kept(j, rooms[job.room].data()) : summed(j, job);
            if (seen.size() < 2) continue;
            const double charge = data.named[j] ? ordered_by_one(job, total) : 0.0;
            cut(j, total, base + charge);
        }
    }

    // The values of a column that the node's rows have, in the order of their codes.
    void kept(int j, const Sums* cells) {
        seen.clear();
        const Sums* cell = cells + tiles.cells[j] * V;
        for (std::int32_t v = 0; v < data.sizes[j]; ++v, cell += V)
            if (cell->h != 0) seen.push_back({v, cell, 0.0});
    }

    void summed(int j, const Job& job) {
        seen.clear();
        const C* codes = data.column(j);
        std::int32_t low = data.sizes[j], high = 0, used = 0;
        const auto m = static_cast<std::size_t>(job.to - job.from);
        own.resize(std::max(own.size(), std::min<std::size_t>(m, data.sizes[j]) * V));
        for (std::int32_t i = job.from; i < job.to; ++i) {
            const std::size_t r = (*rows)[i];
            const std::int32_t code = codes[r];
            if (slot[code] < 0) {
                slot[code] = used++;
                seen.push_back({code, nullptr, 0.0});
                std::fill_n(own.begin() + static_cast<std::size_t>(slot[code]) * V, V, Sums{});
                low = std::min(low, code), high = std::max(high, code);
            }
            Sums* cell = own.data() + static_cast<std::size_t>(slot[code]) * V;
            for (int v = 0; v < V; ++v) cell[v] += slopes->sums(r, v);
        }
        if (static_cast<std::size_t>(high - low) < 16 * seen.size()) {
            seen.clear();
            for (std::int32_t code = low; code <= high; ++code)
                if (slot[code] >= 0) seen.push_back({code, nullptr, 0.0});
        } else {
            std::sort(seen.begin(), seen.end(), [](const Value& a, const Value& b) { return a.code < b.code; });
        }
        for (auto& s : seen) s.sums = own.data() + static_cast<std::size_t>(slot[s.code]) * V, slot[s.code] = -1;
    }

    // Named values get an order by the gradient of one class that is drawn; what the freedom to choose it is charged.
    double ordered_by_one(const Job& job, const Sums* total) {
        if (seen.size() == 2) return 0.0;
        const int v = V == 1 ? 0 : static_cast<int>(random->next() % V);
        for (auto& s : seen) s.order = slopes->G(s.sums[v]) / (slopes->H(s.sums[v]) + 1.0);
        std::sort(seen.begin(), seen.end(), [](const Value& a, const Value& b) { return a.order != b.order ? a.order < b.order : a.code < b.code; });
        if (squares[v] < 0) {
            squares[v] = 0;
            for (std::int32_t i = job.from; i < job.to; ++i) {
                const double g = slopes->g((*rows)[i], v);
                squares[v] += g * g;
            }
        }
        return static_cast<double>(seen.size() - 2) * squares[v] / (slopes->H(total[v]) + 2 * how.lambda);
    }

    // The best place between two of the values seen. A²/a + B²/b = (A² b + B² a)/(a b): one division a place.
    void cut(int j, const Sums* total, double base) {
        const std::size_t places = seen.size() - 1;
        const std::int64_t n = slopes->rows(total[0]);
        std::size_t first = 0, last = places;  // between which either side has rows enough
        gains.assign(places, -base), G.resize(places), H.resize(places);
        for (int v = 0; v < V; ++v) {
            Sums run;
            for (std::size_t i = 0; i < places; ++i) {
                run += seen[i].sums[v];
                G[i] = slopes->G(run), H[i] = slopes->H(run) + how.lambda;
                if (v > 0) continue;
                const std::int64_t m = slopes->rows(run);
                first += m < how.least, last -= n - m < how.least;
            }
            const double all = slopes->G(total[v]), both = slopes->H(total[v]) + 2 * how.lambda;
            double *to = gains.data(), *g = G.data(), *h = H.data();
            for (std::size_t i = first; i < last; ++i) {
                const double other = all - g[i], rest = both - h[i];
                to[i] += (g[i] * g[i] * rest + other * other * h[i]) / (h[i] * rest);
            }
        }
        std::size_t best = places;
        for (std::size_t i = first; i < last; ++i)
            if (gains[i] > found.gain * (1 + 1e-12)) found.gain = gains[i], best = i;  // of equals the first, whatever rounding says
        if (best == places) return;
        found.column = j;
        std::fill(found.left.begin(), found.left.end(), Sums{});
        for (std::size_t i = 0; i <= best; ++i)
            for (int v = 0; v < V; ++v) found.left[v] += seen[i].sums[v];
        if (!data.named[j]) {
            found.cut = (seen[best].code + seen[best + 1].code - 1) / 2;
            return;
        }
        found.values.clear();
        for (std::size_t i = 0; i <= best; ++i) found.values.push_back(seen[i].code);
    }

    // Writes the split into its node and parts the rows; where the right side begins.
    std::int32_t part(const Job& job) {
        const int j = found.column;
        const C* codes = data.column(j);
        made.tree.column[job.node] = j;
        std::int32_t *list = rows->data(), *far = scratch.data(), right = 0, at = job.from;
        const auto send = [&](bool goes, std::int32_t r) {  // without a branch that could be guessed wrongly
            list[at] = r, far[right] = r;
            at += goes, right += !goes;
        };
        if (!data.named[j]) {
            const std::int32_t cut = made.tree.cut[job.node] = found.cut;
            for (std::int32_t i = job.from; i < job.to; ++i) send(codes[list[i]] <= cut, list[i]);
        } else {
            auto& bits = made.tree.bits;
            const std::size_t words = (static_cast<std::size_t>(data.sizes[j]) + 63) / 64, start = bits.size();
            made.tree.cut[job.node] = static_cast<std::int32_t>(start);
            bits.resize(start + 2 * words, 0);
            for (const auto v : found.values) bits[start + v / 64] |= std::uint64_t{1} << (v % 64);
            for (std::int32_t i = job.from; i < job.to; ++i) {
                const std::size_t v = codes[list[i]];
                bits[start + words + v / 64] |= std::uint64_t{1} << (v % 64);
                send(bits[start + v / 64] >> (v % 64) & 1, list[i]);
            }
        }
        std::copy(far, far + right, list + at);
        return at;
    }
};

template <typename C>
BoostGrower<C>::BoostGrower(const CodedRows<C>& data, const Tiles<C>& tiles, int V, const Boosting& how)
    : work(std::make_unique<Work>(data, tiles, V, how)) {}
template <typename C> BoostGrower<C>::BoostGrower(BoostGrower&&) noexcept = default;
template <typename C> BoostGrower<C>::~BoostGrower() = default;

template <typename C>
BoostedTree BoostGrower<C>::grow(std::vector<std::int32_t>& rows, const Slopes& slopes, Xoshiro& random, int threads, Watch& watch) {
    leaves.clear();
    work->rows = &rows, work->slopes = &slopes, work->random = &random, work->threads = threads;
    work->grow(leaves, watch);
    return std::move(work->made);
}

template struct Tiles<std::uint8_t>;
template struct Tiles<std::uint16_t>;
template class BoostGrower<std::uint8_t>;
template class BoostGrower<std::uint16_t>;

}  // namespace posteriori
