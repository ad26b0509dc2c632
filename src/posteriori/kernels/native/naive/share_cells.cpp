// N[cell, y] by shares: a row gives r[row, y] to every class y at once.
//
// Neighbouring columns of few values are counted together, as one column of their combined values, and their own counts are
// summed from it at the end: half or a third of the additions. Sums of whole numbers stay exact, so that shares of one are
// counting, to the last bit. Rows are dealt to fixed chunks, merged in order: threads change nothing.
#include <algorithm>

#include "naive.hpp"
#include "threads.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t ROWS = 256;            // rows whose cells are looked up together
constexpr std::size_t TOGETHER = 8;          // groups: a sum need not wait for the one before it in its own group
constexpr std::size_t COMBINED = 64;         // cells of a group of columns
constexpr std::size_t BIG_TABLE = 1u << 19;  // numbers above which threads share one table by groups

typedef double Two __attribute__((vector_size(16)));

// Columns that are counted as one: the cells of column j are `step` apart.
struct Group {
    std::vector<std::size_t> columns, steps;
    std::size_t cells = 1, first = 0;  // how many, and where they begin among those of all groups
};

template <typename F> void by_width(int width, const F& call) {
    if (width == 1) call(std::uint8_t{});
    else if (width == 2) call(std::uint16_t{});
    else if (width == 4) call(std::uint32_t{});
    else call(std::uint64_t{});
}

// One more than the greatest code of each column, refused where its table does not have it.
std::vector<std::size_t> used_sizes(const Cells& cells, int threads) {
    const std::size_t d = cells.columns.size(), blocks = (cells.n + ROWS - 1) / ROWS;
    const std::size_t tasks = std::min<std::size_t>(static_cast<std::size_t>(std::max(1, threads)), blocks);
    const bool bytes = cells.row_major && cells.columns[0].width == 1;
    std::vector<std::vector<std::uint64_t>> tops(tasks, std::vector<std::uint64_t>(d, 0));
    parallel_for(tasks, threads, [&](std::size_t t) {
        std::vector<std::uint8_t> most(bytes ? d : 0, 0);
        for (std::size_t b = blocks * t / tasks; b < blocks * (t + 1) / tasks; ++b) {
            const std::size_t begin = b * ROWS, count = std::min(ROWS, cells.n - begin);
            if (bytes) {  // whole rows at a time
                for (std::size_t r = begin; r < begin + count; ++r) {
                    const unsigned char* row = cells.columns[0].at(r);
                    std::uint8_t* top = most.data();
                    for (std::size_t j = 0; j < d; ++j) top[j] = std::max(top[j], row[j]);
                }
                continue;
            }
            for (std::size_t j = 0; j < d; ++j)
                by_width(cells.columns[j].width, [&](auto code) {
                    tops[t][j] = std::max(tops[t][j], greatest<decltype(code)>(cells.columns[j], begin, count));
                });
        }
        std::copy(most.begin(), most.end(), tops[t].begin());
    });
    std::vector<std::size_t> sizes(d);
    for (std::size_t j = 0; j < d; ++j) {
        std::uint64_t top = 0;
        for (const auto& found : tops) top = std::max(top, found[j]);
        if (top >= cells.size(j)) bad_code(j, top, cells.size(j));
        sizes[j] = static_cast<std::size_t>(top) + 1;
    }
    return sizes;
}

std::vector<Group> groups_of(const std::vector<std::size_t>& sizes) {
    std::vector<Group> groups;
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        if (groups.empty() || groups.back().cells * sizes[j] > COMBINED) groups.emplace_back();
        Group& group = groups.back();
        group.columns.push_back(j);
        group.steps.push_back(group.cells);
        group.cells *= sizes[j];
    }
    for (std::size_t g = 1; g < groups.size(); ++g) groups[g].first = groups[g - 1].first + groups[g - 1].cells;
    return groups;
}

class Sharing {
  public:
    Sharing(const Cells& cells_, const double* shares_, std::size_t K_, std::vector<Group> groups_)
        : cells(cells_), shares(shares_), K(K_), stride(K % 4 == 3 ? K + 1 : K), groups(std::move(groups_)),
          total(groups.back().first + groups.back().cells) {}

    std::size_t size() const { return total * stride; }
    std::size_t count() const { return groups.size(); }

    // Adds the shares of some rows to the cells of the groups [from, to).
    void add(std::size_t from, std::size_t to, std::size_t begin, std::size_t end, double* sums) const {
        std::vector<std::uint32_t> at(ROWS * TOGETHER);
        std::vector<double> last;
        for (std::size_t b = begin; b < end; b += ROWS) {
            const std::size_t count = std::min(ROWS, end - b);
            const double* own = shares + b * K;
            if (stride != K && b + count == cells.n) {  // four are read where three are left: not beyond the array
                last.assign(own, own + count * K);
                last.push_back(0.0);
                own = last.data();
            }
            for (std::size_t g = from; g < to; g += TOGETHER) {
                const std::size_t some = std::min(TOGETHER, to - g);
                for (std::size_t c = 0; c < some; ++c) look_up(groups[g + c], b, count, at.data() + c * ROWS);
                std::size_t k = 0;
                for (; k + 4 <= stride; k += 4) add_lanes<Doubles>(at.data(), g, some, count, own, k, sums);
                if (k + 2 <= stride) add_lanes<Two>(at.data(), g, some, count, own, k, sums), k += 2;
                if (k < stride) add_lanes<double>(at.data(), g, some, count, own, k, sums);
            }
        }
    }

    // The counts of the columns themselves.
    void put(const double* sums, double* table) const {
        for (const Group& group : groups)
            for (std::size_t c = 0; c < group.columns.size(); ++c) {
                const std::size_t j = group.columns[c], step = group.steps[c];
                const std::size_t size = (c + 1 < group.columns.size() ? group.steps[c + 1] : group.cells) / step;
                double* own = table + cells.offsets[j] * static_cast<std::int64_t>(K);
                for (std::size_t cell = 0; cell < group.cells; ++cell) {
                    double* to = own + cell / step % size * K;
                    for (std::size_t k = 0; k < K; ++k) to[k] += sums[at(group.first + cell, k)];
                }
            }
    }

  private:
    // Classes stand four by four, then two, then one: the cells of each few are together, and stay in the first cache.
    std::size_t at(std::size_t cell, std::size_t k) const {
        const std::size_t fours = stride / 4 * 4;
        const std::size_t width = k < fours ? 4 : k < stride / 2 * 2 ? 2 : 1, first = k / width * width;
        return total * first + cell * width + (k - first);
    }

    // The cells of a block of rows among those of their group.
    void look_up(const Group& group, std::size_t begin, std::size_t count, std::uint32_t* at) const {
        for (std::size_t c = 0; c < group.columns.size(); ++c) {
            const Column& column = cells.columns[group.columns[c]];
            const auto step = static_cast<std::uint32_t>(group.steps[c]);
            by_width(column.width, [&](auto code) {
                using C = decltype(code);
                const unsigned char* p = column.at(begin);
                if (c == 0 && column.stride == sizeof(C))
                    for (std::size_t r = 0; r < count; ++r)
                        at[r] = static_cast<std::uint32_t>(read_code<C>(p + r * sizeof(C))) * step;
                else if (column.stride == sizeof(C))
                    for (std::size_t r = 0; r < count; ++r)
                        at[r] += static_cast<std::uint32_t>(read_code<C>(p + r * sizeof(C))) * step;
                else if (c == 0)
                    for (std::size_t r = 0; r < count; ++r, p += column.stride)
                        at[r] = static_cast<std::uint32_t>(read_code<C>(p)) * step;
                else
                    for (std::size_t r = 0; r < count; ++r, p += column.stride)
                        at[r] += static_cast<std::uint32_t>(read_code<C>(p)) * step;
            });
        }
    }

    template <typename Lanes>
    void add_lanes(const std::uint32_t* where, std::size_t g, std::size_t some, std::size_t count, const double* own,
                   std::size_t k, double* sums) const {
        if (some == TOGETHER) add_groups<Lanes, TOGETHER>(where, g, count, own, k, sums);
        else
            for (std::size_t c = 0; c < some; ++c) add_groups<Lanes, 1>(where + c * ROWS, g + c, count, own, k, sums);
    }

    template <typename Lanes, std::size_t G>
    void add_groups(const std::uint32_t* where, std::size_t g, std::size_t count, const double* own, std::size_t k,
                    double* sums) const {
        constexpr std::size_t width = sizeof(Lanes) / sizeof(double);
        double* to[G];
        for (std::size_t c = 0; c < G; ++c) to[c] = sums + total * k + groups[g + c].first * width;
        for (std::size_t r = 0; r < count; ++r) {
            Lanes share;
            std::memcpy(&share, own + r * K + k, sizeof share);
            for (std::size_t c = 0; c < G; ++c) {
                Lanes sum;
                double* cell = to[c] + where[c * ROWS + r] * width;
                std::memcpy(&sum, cell, sizeof sum);
                sum += share;
                std::memcpy(cell, &sum, sizeof sum);
            }
        }
    }

    const Cells& cells;
    const double* shares;
    const std::size_t K, stride;  // a row of a table has room for four classes where there are three
    const std::vector<Group> groups;
    const std::size_t total;  // cells of all groups
};

}  // namespace

void share_cells(const Cells& cells, std::size_t K, const double* shares, double* table, int threads) {
    if (cells.columns.empty() || !cells.n || !K) return;
    const Sharing sharing(cells, shares, K, groups_of(used_sizes(cells, threads)));
    std::vector<std::vector<double>> sums(1);
    if (sharing.size() > BIG_TABLE) {
        sums[0].assign(sharing.size(), 0.0);
        parallel_for(sharing.count(), threads, [&](std::size_t g) { sharing.add(g, g + 1, 0, cells.n, sums[0].data()); });
    } else {
        const std::size_t tasks = std::min<std::size_t>(16, (cells.n + 32767) / 32768);
        const std::size_t share = (cells.n + tasks - 1) / tasks;
        sums.resize(tasks);
        parallel_for(tasks, threads, [&](std::size_t t) {
            sums[t].assign(sharing.size(), 0.0);
            sharing.add(0, sharing.count(), std::min(cells.n, t * share), std::min(cells.n, (t + 1) * share), sums[t].data());
        });
        for (std::size_t t = 1; t < tasks; ++t)
            for (std::size_t k = 0; k < sums[0].size(); ++k) sums[0][k] += sums[t][k];
    }
    sharing.put(sums[0].data(), table);
}

}  // namespace posteriori
