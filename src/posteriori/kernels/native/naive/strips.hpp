// N[cell, y] of rows of bytes with few values: rows of one class, all their columns at once.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "byte_rows.hpp"
#include "naive.hpp"
#include "vec.hpp"

namespace posteriori {

// The rows of one class, one after the other: those that bits name out of 64, or a list.
struct Named {
    const unsigned char* base;
    std::ptrdiff_t stride;
    std::uint64_t bits;
    template <typename Work> void each(Work&& work) const {
        for (std::uint64_t left = bits; left; left &= left - 1) work(base + __builtin_ctzll(left) * stride);
    }
};
struct Listed {
    const unsigned char* const* rows;
    std::size_t count;
    template <typename Work> void each(Work&& work) const {
        for (std::size_t r = 0; r < count; ++r) work(rows[r]);
    }
};

// Rows of bytes, few values, 32 or 64 columns at once: how often each value is there, added to counts that are bytes; the
// greatest is kept.
template <int V, int Width, typename Rows>
void compare_rows(const Rows& rows, std::size_t at, std::size_t first, Bytes (*near)[2], Bytes* top) {
    Bytes wanted[V], sums[V][Width], most[Width];
    for (int w = 0; w < Width; ++w) most[w] = top[w];
    for (int v = 0; v < V; ++v) wanted[v] = all_bytes(static_cast<std::uint8_t>(first + v));
    for (int v = 0; v < V; ++v)
        for (int w = 0; w < Width; ++w) sums[v][w] = near[v][w];
    rows.each([&](const unsigned char* row) {
        for (int w = 0; w < Width; ++w) {
            const Bytes x = load_bytes(row + at + 32 * w);
            most[w] = max_bytes(x, most[w]);
            for (int v = 0; v < V; ++v) sums[v][w] -= reinterpret_cast<Bytes>(x == wanted[v]);
        }
    });
    for (int v = 0; v < V; ++v)
        for (int w = 0; w < Width; ++w) near[v][w] = sums[v][w];
    for (int w = 0; w < Width; ++w) top[w] = most[w];
}

// Which of 64 rows are of a class.
inline std::uint64_t rows_of_class(const std::uint8_t* y, std::uint8_t k) {
#ifdef __AVX2__
    auto bits = [&](const std::uint8_t* p) -> std::uint64_t {
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(load_bytes(p) == all_bytes(k))));
    };
    return bits(y) | bits(y + 32) << 32;
#else
    std::uint64_t found = 0;
    for (int r = 0; r < 64; ++r) found |= static_cast<std::uint64_t>(y[r] == k) << r;
    return found;
#endif
}

// Counts of one thread's rows in strips of 64 columns, put into the table at the end. The greatest value of a strip is counted
// by difference. A strip reads 32 bytes at once.
class Strips {
  public:
    static constexpr std::size_t BLOCK = 4096;       // most rows at a time
    static constexpr std::size_t MOST_VALUES = 32;   // up to here comparing 32 codes at once beats counting one by one
    static constexpr std::size_t MOST_CLASSES = 64;
    static constexpr std::size_t FEW_CLASSES = 6;    // up to here rows of a class are found by comparing

    static bool suits(const Cells& cells, std::size_t K) {
        const std::size_t d = cells.columns.size();
        if (K > MOST_CLASSES || cells.n < 256 || cells.n >> 32 || !ByteRows::suits(cells)) return false;
        if (d < (cells.row_major ? 2 : 16)) return false;  // contiguous columns are counted as they are
        for (std::size_t j = 0; j < d; ++j)
            if (cells.size(j) > MOST_VALUES || cells.size(j) == 0) return false;
        return true;
    }

    Strips(const Cells& cells_, std::size_t K_)
        : cells(cells_), K(K_), d(cells.columns.size()), bytes(cells), rows_of(K), pending(K),
          copies((std::min(block(), cells.n) + 15) / 16 * 16 * bytes.reach) {
        for (std::size_t from = 0; from < d; from += 64) {
            std::size_t most = 2;
            for (std::size_t j = from; j < std::min(d, from + 64); ++j) most = std::max(most, cells.size(j));
            strips.push_back({from, d - from > 32, most - 1, values, {}});
            values += most - 1;
        }
        seen = std::make_unique<std::uint32_t[][64]>(values * K);
        near = std::make_unique<Near[]>(values * K);
    }

    // 64 rows, which the processor reads ahead of us; of many classes as many as give each some, within the second cache.
    std::size_t block() const {
        if (K <= FEW_CLASSES) return 64;
        const std::size_t most = std::clamp<std::size_t>((std::size_t{1} << 20) / bytes.reach, 64, BLOCK);
        return std::clamp<std::size_t>(std::max(16384 / d, 64 * K), 64, most);
    }

    void add(std::size_t begin, std::size_t count, const std::uint32_t* y) {
        const auto [base, stride] = bytes.block(begin, count, copies.data());
        const bool more = begin + 2 * count <= cells.n && base != copies.data();
        if (K <= FEW_CLASSES) few(base, stride, count, y);
        else many(base, stride, count, y, more);
    }

    void put(std::int64_t* table) {
        for (std::size_t k = 0; k < K; ++k) settle(k);
        for (const Strip& strip : strips)
            for (std::size_t j = strip.from; j < std::min(d, strip.from + 64); ++j) {
                const std::size_t size = cells.size(j), lane = j - strip.from;
                const std::uint8_t top = strip.top[lane / 32][lane % 32];
                if (top >= size) bad_code(j, top, size);
                for (std::size_t k = 0; k < K; ++k) {
                    auto rest = static_cast<std::int64_t>(rows_of[k]);
                    std::int64_t* own = table + cells.offsets[j] * static_cast<std::int64_t>(K) + k;
                    for (std::size_t v = 0; v + 1 < size; ++v) {
                        const std::uint32_t found = seen[k * values + strip.first + v][lane];
                        own[v * K] += found;
                        rest -= found;
                    }
                    own[(size - 1) * K] += rest;
                }
            }
    }

  private:
    typedef Bytes Near[2];  // counts of 64 columns, up to 255
    struct Strip {
        std::size_t from;
        bool wide;                    // more than 32 columns
        std::size_t compared, first;  // values; where their counts begin
        Bytes top[2];
    };

    void few(const unsigned char* base, std::ptrdiff_t stride, std::size_t count, const std::uint32_t* classes) {
        std::uint8_t y[64];
        std::memset(y, 255, sizeof y);
        for (std::size_t r = 0; r < count; ++r) y[r] = static_cast<std::uint8_t>(classes[r]);
        read_in_order(base, stride, count, d);
        for (std::size_t k = 0; k < K; ++k) {
            const std::uint64_t bits = rows_of_class(y, static_cast<std::uint8_t>(k));
            const auto found = static_cast<std::size_t>(__builtin_popcountll(bits));
            if (pending[k] + found > 255) settle(k);
            compare(Named{base, stride, bits}, k, found);
        }
    }

    void many(const unsigned char* base, std::ptrdiff_t stride, std::size_t count, const std::uint32_t* y, bool more) {
        constexpr std::size_t PARTS = 4;  // rows of four parts by turns: neighbours of one class would wait for its counter
        const std::size_t part = (count + PARTS - 1) / PARTS;
        auto each = [&](auto&& work) {
            for (std::size_t i = 0; i < part; ++i)
                for (std::size_t p = 0; p < PARTS; ++p)
                    if (const std::size_t r = p * part + i; r < count) work(p, r);
        };
        std::uint32_t next[PARTS][MOST_CLASSES] = {}, from[MOST_CLASSES + 1], at = 0;
        each([&](std::size_t p, std::size_t r) { ++next[p][y[r]]; });
        for (std::size_t k = 0; k < K; ++k) {
            from[k] = at;
            for (auto& own : next) at += std::exchange(own[k], at);
        }
        from[K] = at;
        const unsigned char* rows[BLOCK];
        each([&](std::size_t p, std::size_t r) {
            rows[next[p][y[r]]++] = base + static_cast<std::ptrdiff_t>(r) * stride;
            if (more) fetch_ahead(base, stride, count, r);
        });
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t r = from[k]; r < from[k + 1];) {
                const std::size_t most = std::min<std::size_t>(from[k + 1] - r, 255 - pending[k]);
                compare(Listed{rows + r, most}, k, most);
                if (pending[k] == 255) settle(k);
                r += most;
            }
    }

    // A row of the next block, which is not read in order.
    void fetch_ahead(const unsigned char* base, std::ptrdiff_t stride, std::size_t count, std::size_t r) const {
        const unsigned char* row = base + static_cast<std::ptrdiff_t>(count + r) * stride;
        for (std::size_t j = 0; j < d; j += 64) __builtin_prefetch(row + j);
    }

    // So many rows of a class.
    template <typename Rows> void compare(const Rows& rows, std::size_t k, std::size_t count) {
        for (Strip& strip : strips)
            for (std::size_t v = 0; v < strip.compared; v += 4) {
                auto work = strip.wide ? compare_rows<4, 2, Rows> : compare_rows<4, 1, Rows>;
                switch (strip.compared - v) {
                    case 1: work = strip.wide ? compare_rows<1, 2, Rows> : compare_rows<1, 1, Rows>; break;
                    case 2: work = strip.wide ? compare_rows<2, 2, Rows> : compare_rows<2, 1, Rows>; break;
                    case 3: work = strip.wide ? compare_rows<3, 2, Rows> : compare_rows<3, 1, Rows>; break;
                }
                work(rows, strip.from, v, near.get() + k * values + strip.first + v, strip.top);
            }
        pending[k] += count;
        rows_of[k] += count;
    }

    void settle(std::size_t k) {  // the next row could be one too many for a byte
        for (std::size_t v = k * values; v < (k + 1) * values; ++v)
            for (int w = 0; w < 2; ++w) {
                const Bytes found = std::exchange(near[v][w], Bytes{});
                for (int lane = 0; lane < 32; ++lane) seen[v][32 * w + lane] += found[lane];
            }
        pending[k] = 0;
    }

    const Cells& cells;
    const std::size_t K, d;
    const ByteRows bytes;
    std::vector<std::size_t> rows_of, pending;  // of each class; those that are in `near`
    std::vector<Strip> strips;
    std::size_t values = 0;
    std::unique_ptr<std::uint32_t[][64]> seen;  // [class, value][lane]
    std::unique_ptr<Near[]> near;
    std::vector<unsigned char> copies;
};

}  // namespace posteriori
