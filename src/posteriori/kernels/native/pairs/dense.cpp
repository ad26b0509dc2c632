#include "pairs/dense.hpp"

#include <algorithm>
#include <cstdint>

#include "pairs/family_score.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t kCells = 4096;      // of a table
constexpr std::size_t kTogether = 1024;   // of one that counts several candidates, or in eight copies
constexpr std::size_t kChunk = 4096;      // rows, whose cells fit the nearest cache
constexpr std::size_t kFewCells = 30;     // of child and parents: up to so many, bitmaps are faster
constexpr std::size_t kFewRows = 64;

using Counts = std::vector<std::int32_t>;

// Rows that follow each other often have the same cell, and an addition waits for the one before it: hence the copies.
template <std::size_t copies> void add(const std::uint16_t* cells, std::size_t n, std::int32_t* table, std::size_t size) {
    std::size_t i = 0;
    for (; i + copies <= n; i += copies)
        for (std::size_t k = 0; k < copies; ++k) ++table[k * size + cells[i + k]];
    for (; i < n; ++i) ++table[cells[i]];
}

// [left][size][right] without the middle axis.
Counts summed(const Counts& table, std::size_t left, std::size_t size, std::size_t right) {
    if (size == 1) return table;
    Counts out(left * right, 0);
    if (right == 1) {
        for (std::size_t a = 0; a < left; ++a) {
            std::int32_t sum = 0;
            for (std::size_t v = 0; v < size; ++v) sum += table[a * size + v];
            out[a] = sum;
        }
        return out;
    }
    for (std::size_t a = 0; a < left; ++a)
        for (std::size_t v = 0; v < size; ++v) {
            const std::int32_t* from = table.data() + (a * size + v) * right;
            std::int32_t* to = out.data() + a * right;
            for (std::size_t b = 0; b < right; ++b) to[b] += from[b];
        }
    return out;
}

template <typename C> class Dense {
    const FamilyData<C>& data;
    const std::size_t n = data.n;
    std::vector<std::uint16_t> base;  // the cell of each row among those of child and parents
    std::size_t cells = 1;            // of them

  public:
    std::size_t states(int j) const { return data.states[static_cast<std::size_t>(j)]; }

    Dense(const FamilyData<C>& data, int child, const std::vector<int>& parents) : data(data), base(data.n, 0) {
        append(child);
        for (const int p : parents) append(p);
    }

    // N of child, parents and some more columns.
    Counts counted(const std::vector<int>& more) const {
        std::size_t size = cells;
        for (const int j : more) size *= states(j);
        const std::size_t copies = size <= kTogether ? 8 : 4;
        Counts table(size * copies, 0);
        std::uint16_t here[kChunk];
        for (std::size_t begin = 0; begin < n; begin += kChunk) {
            const std::size_t count = std::min(kChunk, n - begin);
            std::copy_n(base.data() + begin, count, here);
            for (const int j : more) digit(here, data.column(j) + begin, count, static_cast<std::uint16_t>(states(j)));
            if (copies == 8)
                add<8>(here, count, table.data(), size);
            else
                add<4>(here, count, table.data(), size);
        }
        for (std::size_t k = 1; k < copies; ++k)
            for (std::size_t c = 0; c < size; ++c) table[c] += table[k * size + c];
        table.resize(size);
        return table;
    }

  private:
    static void digit(std::uint16_t* cells, const C* x, std::size_t count, std::uint16_t states) {
        for (std::size_t i = 0; i < count; ++i) cells[i] = static_cast<std::uint16_t>(cells[i] * states + x[i]);
    }
    void append(int j) {
        digit(base.data(), data.column(j), n, static_cast<std::uint16_t>(states(j)));
        cells *= states(j);
    }
};

}  // namespace

template <typename C>
std::vector<std::size_t> dense_scores(const FamilyData<C>& data, int child, const std::vector<int>& parents,
                                      const std::vector<int>& candidates, const Scoring& how, double* out, int threads, bool own) {
    const auto states = [&](int j) { return static_cast<std::size_t>(data.states[static_cast<std::size_t>(j)]); };
    std::vector<std::size_t> left;
    const std::size_t room = std::min(kCells, data.n / 4);
    std::size_t cells = states(child);
    bool fits = !data.weights && data.n >= kFewRows && data.is_full(child);
    for (const int p : parents) fits = fits && (cells *= states(p)) <= room && data.is_full(p);
    if (!fits || cells <= kFewCells || cells > room) {
        for (std::size_t k = !own; k <= candidates.size(); ++k) left.push_back(k);
        return left;
    }
    struct Pass {
        std::vector<std::size_t> places;  // of the candidates that are counted together
        std::size_t cells;
    };
    std::vector<Pass> passes;
    std::vector<std::size_t> less;  // places of candidates that are parents
    for (std::size_t k = 1; k <= candidates.size(); ++k) {
        const int c = candidates[k - 1];
        if (std::find(parents.begin(), parents.end(), c) != parents.end()) {
            less.push_back(k);
        } else if (cells * states(c) > room || !data.is_full(c)) {
            left.push_back(k);
        } else {
            if (passes.empty() || passes.back().cells * states(c) > kTogether) passes.push_back({{}, cells});
            passes.back().places.push_back(k), passes.back().cells *= states(c);
        }
    }
    const bool base = own || !less.empty();
    if (passes.empty() && base) passes.push_back({{}, cells});
    const Dense<C> dense(data, child, parents);
    const std::size_t r = data.sizes[static_cast<std::size_t>(child)], axis = states(child);
    const auto score = [&](const Counts& table) {  // [child][configuration]
        const std::size_t q = table.size() / axis;
        Adder adder{how, static_cast<double>(r), static_cast<double>(q)};
        return adder(table.data(), r, q, q) - adder.price();
    };
    parallel_for(passes.size(), threads, [&](std::size_t task) {
        const Pass& pass = passes[task];
        std::vector<int> more;
        for (const auto place : pass.places) more.push_back(candidates[place - 1]);
        const Counts table = dense.counted(more);
        std::size_t before = 1, after = pass.cells / cells;
        for (std::size_t k = 0; k < more.size(); ++k) {
            after /= states(more[k]);
            out[pass.places[k]] = score(summed(summed(table, cells, before, states(more[k]) * after), cells * states(more[k]), after, 1));
            before *= states(more[k]);
        }
        if (task || !base) return;
        const Counts alone = summed(table, cells, pass.cells / cells, 1);
        if (own) out[0] = score(alone);
        for (const auto place : less) {
            std::size_t outer = axis, p = 0;
            for (; parents[p] != candidates[place - 1]; ++p) outer *= states(parents[p]);
            out[place] = score(summed(alone, outer, states(parents[p]), cells / outer / states(parents[p])));
        }
    });
    return left;
}

#define POSTERIORI_DENSE(C)                                                                                               \
    template std::vector<std::size_t> dense_scores<C>(const FamilyData<C>&, int, const std::vector<int>&,                 \
                                                      const std::vector<int>&, const Scoring&, double*, int, bool);
POSTERIORI_DENSE(std::uint8_t)
POSTERIORI_DENSE(std::uint16_t)
POSTERIORI_DENSE(std::uint32_t)

}  // namespace posteriori
