// xoshiro256++ (Blackman and Vigna), seeded by splitmix64: one stream a chain or chunk, so threads change no draw.
#pragma once
#include <cstdint>

namespace posteriori {

class Xoshiro {
public:
    explicit Xoshiro(std::uint64_t seed) {
        for (auto& word : s_) {
            std::uint64_t z = (seed += 0x9e3779b97f4a7c15u);
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotl(s_[0] + s_[3], 23) + s_[0], t = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= t;
        s_[3] = rotl(s_[3], 45);
        return result;
    }

    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)

    // An index with probability proportional to its weight; the weights sum to `total` > 0.
    template <typename Weight> std::int64_t pick(Weight&& weight, std::int64_t n, double total) {
        double left = uniform() * total;
        std::int64_t last = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            const double w = weight(k);
            if (w <= 0) continue;
            last = k;
            if ((left -= w) < 0) return k;
        }
        return last;  // rounding left a crumb
    }

private:
    static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    std::uint64_t s_[4];
};

}  // namespace posteriori
