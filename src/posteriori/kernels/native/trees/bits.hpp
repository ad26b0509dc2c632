// Numbers as bits, Rice's code: v is ⌊v/2^k⌋ ones and a zero, then k bits of what is left, the lowest first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace posteriori {

constexpr int PARAMETER = 4;  // bits of a k

class BitsOut {
    std::vector<std::uint8_t>& to;
    std::uint64_t held = 0;
    int have = 0;

  public:
    explicit BitsOut(std::vector<std::uint8_t>& to) : to(to) {}
    BitsOut(const BitsOut&) = delete;
    ~BitsOut() {
        if (have > 0) to.push_back(static_cast<std::uint8_t>(held));
    }

    void put(std::uint64_t bits, int many) {  // 48 at most
        held |= bits << have, have += many;
        for (; have >= 8; have -= 8, held >>= 8) to.push_back(static_cast<std::uint8_t>(held));
    }

    void rice(std::uint64_t v, int k) {
        std::uint64_t ones = v >> k;
        for (; ones > 32; ones -= 32) put(0xffffffffu, 32);
        put((std::uint64_t{1} << ones) - 1, static_cast<int>(ones) + 1);
        put(v & ((std::uint64_t{1} << k) - 1), k);
    }
};

// Where there are no more bits, `short_of` says so, and what is read means nothing.
class BitsIn {
    const std::uint8_t *at, *end;
    std::uint64_t held = 0;
    int have = 0;
    bool lacking = false;

    void fill() {
        for (; have <= 56 && at != end; have += 8) held |= static_cast<std::uint64_t>(*at++) << have;
    }

    void drop(int many) { held = many < 64 ? held >> many : 0, have -= many; }

  public:
    BitsIn(const std::uint8_t* at, const std::uint8_t* end) : at(at), end(end) {}

    bool short_of() const { return lacking; }
    bool done() const { return at == end && have < 8 && held == 0; }  // but for bits that fill up the last byte

    std::uint64_t take(int many) {  // 56 at most
        fill();
        if (have < many) return lacking = true, 0;
        const std::uint64_t found = held & ((std::uint64_t{1} << many) - 1);
        drop(many);
        return found;
    }

    std::uint64_t rice(int k) {
        std::uint64_t ones = 0;
        for (;;) {
            fill();
            if (have == 0) return lacking = true, 0;
            const int run = ~held == 0 ? 64 : __builtin_ctzll(~held);
            if (run < have) {
                ones += static_cast<std::uint64_t>(run);
                drop(run + 1);
                return ones << k | take(k);
            }
            ones += static_cast<std::uint64_t>(have);
            drop(have);
        }
    }
};

// The k of the fewest bits: Σ ⌊v/2^k⌋ + k + 1.
inline int best_parameter(const std::vector<std::uint64_t>& numbers) {
    int best = 0;
    for (std::uint64_t least = UINT64_MAX, k = 0; k < 1 << PARAMETER; ++k) {
        std::uint64_t bits = numbers.size() * (k + 1);
        for (const auto v : numbers) bits += v >> k;
        if (bits >= least) break;  // they fall, and then they rise
        least = bits, best = static_cast<int>(k);
    }
    return best;
}

}  // namespace posteriori
