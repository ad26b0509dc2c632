// One boosted tree: at each node the split of largest gain among the columns looked at.
//
// Where a node has many rows for its cells, the sums of all its columns are kept: its smaller child is summed, the larger
// one is what remains. Where it has few, a column is summed when it is looked at. Sums are whole, so both are the same.
#include <algorithm>

#include "boost.hpp"

namespace posteriori {

namespace {

constexpr double NOTHING = 1e-9;  // a gain that is rounding

}  // namespace

template <typename C, typename S> struct BoostGrower<C, S>::Work {
    using Unit = typename S::Unit;
    struct Job {
        std::int32_t node, from, to, depth, room;  // room: the place of its sums, or −1
    };
    struct Split {
        double gain = NOTHING;
        int column = -1;
        std::int32_t cut = 0;
        std::vector<std::int32_t> values;  // named: those on the left
        std::vector<Unit> left;
    };

    const CodedRows<C>& data;
    const Tiles<C>& tiles;
    const int V;
    const std::size_t units;
    const Boosting how;

    std::vector<std::int32_t>* rows = nullptr;
    const S* slopes = nullptr;
    Xoshiro* random = nullptr;
    std::vector<Desk<C>> desks;
    BoostedTree made;
    std::vector<double> value;  // [node][value]
    std::vector<Unit> sums;     // [node][unit]
    std::vector<std::int32_t> scratch;
    std::vector<int> columns;
    std::vector<std::vector<Unit>> rooms;
    std::vector<std::int32_t> idle;
    std::vector<std::int32_t> slot;  // of a code, among the cells of one column; −1
    std::vector<Unit> own;           // those cells
    std::vector<Seen<Unit>> seen;
    std::vector<Unit> left;
    std::vector<double> gains;    // of each place between two values
    std::vector<double> squares;  // Σ g² of a node's rows by value; −1: not yet summed
    Split found;

    Work(const CodedRows<C>& data, const Tiles<C>& tiles, int V, const Boosting& how)
        : data(data), tiles(tiles), V(V), units(S::units(V)), how(how), columns(data.d()), left(units), squares(V) {
        for (int j = 0; j < data.d(); ++j) columns[j] = j;
        slot.assign(*std::max_element(data.sizes.begin(), data.sizes.end()), -1);
        found.left.resize(units);
    }

    void grow(std::vector<Leaf>& leaves, Watch& watch) {
        const auto n = static_cast<std::int32_t>(rows->size());
        made = {}, value.clear(), sums.clear(), scratch.resize(n);
        left.assign(units, Unit{});
        std::vector<Job> jobs{{0, 0, n, 0, -1}};
        if (tiles.worth && splits(jobs[0]) && many(n)) {
            sum(0, n, jobs[0].room = take(), -1);
            for (std::size_t c = 0; c < tiles.cells[1] * units; ++c) left[c % units] += rooms[jobs[0].room][c];
        } else {
            for (const auto r : *rows) slopes->add(left.data(), r);
        }
        add(left.data(), nullptr);
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
            for (std::size_t u = 0; u < units; ++u) {
                const Unit taken = left[u];
                left[u] = sums[job.node * units + u];
                left[u] -= taken;
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
            rooms.emplace_back(tiles.cells.back() * units);
        }
        const std::int32_t room = idle.back();
        idle.pop_back();
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
        if (splits(small) && many(small.to - small.from)) small.room = take();
        sum(small.from, small.to, small.room, job.room);
        large.room = job.room;
    }

    // The rows' sums into one room, and off what another has.
    void sum(std::int32_t from, std::int32_t to, std::int32_t plus, std::int32_t minus) {
        const auto room = [&](std::int32_t at) { return at < 0 ? nullptr : rooms[at].data(); };
        fill(*slopes, tiles, V, rows->data(), from, to, room(plus), room(minus), desks);
    }

    void add(const Unit* total, const Job* above) {
        made.tree.column.push_back(-1), made.tree.cut.push_back(0), made.tree.child.push_back(0), made.gains.push_back(0);
        for (int v = 0; v < V; ++v) {
            const double parent = above ? value[static_cast<std::size_t>(above->node) * V + v] : 0.0;
            const double own = (how.lambda * parent - slopes->G(total, v)) / (slopes->H(total, v) + how.lambda);
            value.push_back(own);
            made.values.push_back(static_cast<float>(how.rate * own));
        }
        sums.insert(sums.end(), total, total + units);
    }

    // The best split of a node into `found`.
    void look(const Job& job) {
        const Unit* total = sums.data() + job.node * units;
        double base = 0;
        for (int v = 0; v < V; ++v) {
            const double G = slopes->G(total, v);
            base += G * G / (slopes->H(total, v) + how.lambda);
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
    void kept(int j, const Unit* cells) {
        seen.clear();
        const Unit* cell = cells + tiles.cells[j] * units;
        for (std::int32_t v = 0; v < data.sizes[j]; ++v, cell += units)
            if (slopes->rows(cell) > 0) seen.push_back({v, cell, 0.0});
    }

    void summed(int j, const Job& job) {
        seen.clear();
        const C* codes = data.column(j);
        std::int32_t low = data.sizes[j], high = 0, used = 0;
        const auto m = static_cast<std::size_t>(job.to - job.from);
        own.resize(std::max(own.size(), std::min<std::size_t>(m, data.sizes[j]) * units));
        for (std::int32_t i = job.from; i < job.to; ++i) {
            const std::size_t r = (*rows)[i];
            const std::int32_t code = codes[r];
            if (slot[code] < 0) {
                slot[code] = used++;
                seen.push_back({code, nullptr, 0.0});
                std::fill_n(own.begin() + slot[code] * units, units, Unit{});
                low = std::min(low, code), high = std::max(high, code);
            }
            slopes->add(own.data() + slot[code] * units, r);
        }
        if (static_cast<std::size_t>(high - low) < 16 * seen.size()) {
            seen.clear();
            for (std::int32_t code = low; code <= high; ++code)
                if (slot[code] >= 0) seen.push_back({code, nullptr, 0.0});
        } else {
            std::sort(seen.begin(), seen.end(), [](const Seen<Unit>& a, const Seen<Unit>& b) { return a.code < b.code; });
        }
        for (auto& s : seen) s.sums = own.data() + slot[s.code] * units, slot[s.code] = -1;
    }

    // Named values get an order by the gradient of one class that is drawn; what the freedom to choose it is charged.
    double ordered_by_one(const Job& job, const Unit* total) {
        if (seen.size() == 2) return 0.0;
        const int v = V == 1 ? 0 : static_cast<int>(random->next() % V);
        for (auto& s : seen) s.order = slopes->G(s.sums, v) / (slopes->H(s.sums, v) + 1.0);
        std::sort(seen.begin(), seen.end(), [](const Seen<Unit>& a, const Seen<Unit>& b) { return a.order != b.order ? a.order < b.order : a.code < b.code; });
        if (squares[v] < 0) {
            squares[v] = 0;
            for (std::int32_t i = job.from; i < job.to; ++i) {
                const double g = slopes->g((*rows)[i], v);
                squares[v] += g * g;
            }
        }
        return static_cast<double>(seen.size() - 2) * squares[v] / (slopes->H(total, v) + 2 * how.lambda);
    }

    // The best place between two of the values seen.
    void cut(int j, const Unit* total, double base) {
        const std::size_t places = seen.size() - 1;
        const std::int64_t n = slopes->rows(total);
        std::size_t first = 0, last = places;  // between which either side has rows enough
        std::int64_t m = 0;
        for (std::size_t i = 0; i < places; ++i) {
            m += slopes->rows(seen[i].sums);
            first += m < how.least, last -= n - m < how.least;
        }
        if (first >= last) return;
        gains.assign(places, -base);
        split_gains(*slopes, seen, total, V, how.lambda, first, last, gains.data());
        std::size_t best = places;
        for (std::size_t i = first; i < last; ++i)
            if (gains[i] > found.gain * (1 + 1e-12)) found.gain = gains[i], best = i;  // of equals the first, whatever rounding says
        if (best == places) return;
        found.column = j;
        std::fill(found.left.begin(), found.left.end(), Unit{});
        for (std::size_t i = 0; i <= best; ++i)
            for (std::size_t u = 0; u < units; ++u) found.left[u] += seen[i].sums[u];
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

template <typename C, typename S>
BoostGrower<C, S>::BoostGrower(const CodedRows<C>& data, const Tiles<C>& tiles, int V, const Boosting& how)
    : work(std::make_unique<Work>(data, tiles, V, how)) {}
template <typename C, typename S> BoostGrower<C, S>::BoostGrower(BoostGrower&&) noexcept = default;
template <typename C, typename S> BoostGrower<C, S>::~BoostGrower() = default;

template <typename C, typename S>
BoostedTree BoostGrower<C, S>::grow(std::vector<std::int32_t>& rows, const S& slopes, Xoshiro& random, int threads, Watch& watch) {
    leaves.clear();
    work->rows = &rows, work->slopes = &slopes, work->random = &random;
    work->desks.resize(std::max(threads, 1));
    work->grow(leaves, watch);
    return std::move(work->made);
}

template class BoostGrower<std::uint8_t, Slopes>;
template class BoostGrower<std::uint16_t, Slopes>;
template class BoostGrower<std::uint8_t, Words>;
template class BoostGrower<std::uint16_t, Words>;

}  // namespace posteriori
