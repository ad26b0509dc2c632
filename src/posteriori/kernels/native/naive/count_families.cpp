// N[x_family]: rows counted by the values of several columns together. A family is one thread's work, and its codes are made
// block by block: nothing as long as the table is ever written.
#include <algorithm>
#include <vector>

#include "naive.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t BLOCK = 2048;    // rows whose codes stay in the first cache
constexpr std::size_t FOURFOLD = 2048;  // cells up to which a table is kept four times: equal neighbours wait for each other

template <typename C> void add_column(const Column& c, std::size_t begin, std::size_t count, std::uint32_t size, std::uint32_t* codes) {
    const unsigned char* p = c.at(begin);
    if (c.stride == sizeof(C))
        for (std::size_t r = 0; r < count; ++r) codes[r] = codes[r] * size + static_cast<std::uint32_t>(read_code<C>(p + r * sizeof(C)));
    else
        for (std::size_t r = 0; r < count; ++r, p += c.stride) codes[r] = codes[r] * size + static_cast<std::uint32_t>(read_code<C>(p));
}

void add_column(const Column& c, std::size_t begin, std::size_t count, std::uint32_t size, std::uint32_t* codes) {
    if (c.width == 1) add_column<std::uint8_t>(c, begin, count, size, codes);
    else if (c.width == 2) add_column<std::uint16_t>(c, begin, count, size, codes);
    else if (c.width == 4) add_column<std::uint32_t>(c, begin, count, size, codes);
    else add_column<std::uint64_t>(c, begin, count, size, codes);
}

std::uint64_t top_code(const Column& c, std::size_t n) {
    if (c.width == 1) return greatest<std::uint8_t>(c, 0, n);
    if (c.width == 2) return greatest<std::uint16_t>(c, 0, n);
    if (c.width == 4) return greatest<std::uint32_t>(c, 0, n);
    return greatest<std::uint64_t>(c, 0, n);
}

void count_family(const std::vector<Column>& columns, const std::int64_t* sizes, std::size_t n, const std::vector<int>& family,
                  std::size_t cells, std::int64_t* table) {
    std::uint32_t codes[BLOCK];
    const bool fourfold = cells <= FOURFOLD && n >= 4 * cells && n < std::size_t{1} << 32;
    std::vector<std::uint32_t> local(fourfold ? 4 * cells : 0);
    for (std::size_t begin = 0; begin < n; begin += BLOCK) {
        const std::size_t count = std::min(BLOCK, n - begin);
        std::fill(codes, codes + count, 0u);
        for (const int j : family) add_column(columns[j], begin, count, static_cast<std::uint32_t>(sizes[j]), codes);
        std::size_t r = 0;
        if (fourfold)
            for (; r + 4 <= count; r += 4)
                for (std::size_t i = 0; i < 4; ++i) ++local[i * cells + codes[r + i]];
        for (; r < count; ++r) ++table[codes[r]];
    }
    for (std::size_t k = 0; k < local.size(); ++k) table[k % cells] += local[k];
}

}  // namespace

void count_families(const std::vector<Column>& columns, const std::int64_t* sizes, std::size_t n,
                    const std::vector<std::vector<int>>& families, const std::int64_t* starts, std::int64_t* table, int threads) {
    std::vector<int> used;
    for (const auto& family : families) used.insert(used.end(), family.begin(), family.end());
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    parallel_for(used.size(), threads, [&](std::size_t t) {
        const std::size_t j = static_cast<std::size_t>(used[t]);
        const std::uint64_t top = top_code(columns[j], n);
        if (n && top >= static_cast<std::uint64_t>(sizes[j])) bad_code(j, top, static_cast<std::size_t>(sizes[j]));
    });
    parallel_for(families.size(), threads, [&](std::size_t f) {
        count_family(columns, sizes, n, families[f], static_cast<std::size_t>(starts[f + 1] - starts[f]), table + starts[f]);
    });
}

}  // namespace posteriori
