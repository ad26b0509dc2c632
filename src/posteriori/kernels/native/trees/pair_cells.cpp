#include "pair_cells.hpp"

#include "pairs/popcount.hpp"

namespace posteriori {

namespace {

constexpr std::size_t WORDS = LANE_ROWS / 64;
static_assert(WORDS == kLane);
#ifdef __AVX2__
constexpr double A_LANE = 1.0, A_SUM = 1.6;  // of a lane, and of adding up a cell's, in rows counted one by one: measured
#else
constexpr double A_LANE = 7.0, A_SUM = 2.0;
#endif

}  // namespace

void fill_bitmaps(const std::vector<std::uint8_t>& bytes, int V, std::vector<std::uint64_t>& bits) {
    const std::size_t words = bytes.size() / 64;
    bits.resize(words * V);
    for (int v = 0; v < V; ++v)
        for (std::size_t w = 0; w < words; ++w) bits[v * words + w] = equal_bits(bytes.data() + 64 * w, static_cast<std::uint8_t>(v));
}

void shared_cells(const Bitmaps& a, const Bitmaps& b, const std::vector<std::size_t>& starts, std::uint32_t* cells) {
    const std::size_t K = starts.size() - 1, words = starts[K] * WORDS, step = a.V * K;
    for (std::size_t k = 0; k < K; ++k) {
        const std::size_t from = starts[k] * WORDS, size = starts[k + 1] * WORDS - from;
        for (int u = 0; u < a.V; ++u) cells[(b.V - 1) * step + u * K + k] = a.counts[u * K + k];  // less those before
        for (int v = 0; v + 1 < b.V; ++v) {
            std::uint32_t left = b.counts[v * K + k];
            for (int u = 0; u + 1 < a.V; ++u) {
                const auto both = left == 0 ? 0 : static_cast<std::uint32_t>(shared_bits(a.bits + u * words + from, b.bits + v * words + from, size));
                cells[v * step + u * K + k] = both;
                cells[(b.V - 1) * step + u * K + k] -= both;
                left -= both;
            }
            cells[v * step + (a.V - 1) * K + k] = left;
            cells[(b.V - 1) * step + (a.V - 1) * K + k] -= left;
        }
    }
}

double shared_cost(int Va, int Vb, std::size_t classes, std::size_t lanes) {
    return (Va - 1.0) * (Vb - 1.0) * (A_LANE * static_cast<double>(lanes) + A_SUM * static_cast<double>(classes));
}

}  // namespace posteriori
