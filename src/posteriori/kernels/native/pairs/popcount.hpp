// How many bits two bitmaps share.
#pragma once
#include <cstddef>
#include <cstdint>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace posteriori {

constexpr std::size_t kLane = 4;  // bitmaps are padded with zeros to whole lanes of 4 words (256 bits)

#ifdef __AVX2__

// Every byte's bits by two 16-entry lookups; bytes are summed before they can overflow (31 · 8 < 256).
inline std::int64_t shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    const __m256i low = _mm256_set1_epi8(0x0f);
    const __m256i bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3,
                                          2, 3, 3, 4);
    __m256i total = _mm256_setzero_si256();
    for (std::size_t begin = 0; begin < words;) {
        const std::size_t end = begin + 31 * kLane < words ? begin + 31 * kLane : words;
        __m256i bytes = _mm256_setzero_si256();
        for (std::size_t k = begin; k < end; k += kLane) {
            const __m256i both = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + k)),
                                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + k)));
            bytes = _mm256_add_epi8(bytes, _mm256_shuffle_epi8(bits, _mm256_and_si256(both, low)));
            bytes = _mm256_add_epi8(bytes, _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(both, 4), low)));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
        begin = end;
    }
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    return _mm_extract_epi64(half, 0) + _mm_extract_epi64(half, 1);
}

// Bit r of the result is codes[r] == value, for 64 codes.
inline std::uint64_t equal_bits(const std::uint8_t* codes, std::uint8_t value) {
    const __m256i v = _mm256_set1_epi8(static_cast<char>(value));
    const auto* p = reinterpret_cast<const __m256i*>(codes);
    const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(p), v)));
    const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(p + 1), v)));
    return static_cast<std::uint64_t>(second) << 32 | first;
}

// The bits of `from` under `masks`, packed; the rest of the `words` words of `to` are zero.
inline void compress(const std::uint64_t* from, const std::uint64_t* masks, std::size_t n, std::uint64_t* to,
                     std::size_t words) {
    std::uint64_t held = 0;
    unsigned fill = 0;
    std::size_t at = 0;
    for (std::size_t w = 0; w < n; ++w) {
        const std::uint64_t bits = _pext_u64(from[w], masks[w]);
        held |= bits << fill;
        const unsigned total = fill + static_cast<unsigned>(_mm_popcnt_u64(masks[w]));
        to[at] = held;
        const bool full = total >= 64;
        held = full ? (bits >> 1) >> (63 - fill) : held;
        at += full;
        fill = total & 63;
    }
    if (fill) to[at++] = held;
    for (; at < words; ++at) to[at] = 0;
}

// The first two Zen generations run pext bit by bit.
inline bool have_fast_pext() { return !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2"); }

#else

inline void compress(const std::uint64_t*, const std::uint64_t*, std::size_t, std::uint64_t*, std::size_t) {}
inline bool have_fast_pext() { return false; }

inline std::int64_t shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    constexpr std::uint64_t m1 = 0x5555555555555555, m2 = 0x3333333333333333, m4 = 0x0f0f0f0f0f0f0f0f;
    std::int64_t total = 0;
    for (std::size_t k = 0; k < words; k += 2) {
        std::uint64_t bytes = 0;  // two words give at most 16 a byte, 128 in all
        for (std::size_t q = k; q < k + 2; ++q) {
            std::uint64_t v = a[q] & b[q];
            v -= v >> 1 & m1;
            v = (v & m2) + (v >> 2 & m2);
            bytes += (v + (v >> 4)) & m4;
        }
        total += static_cast<std::int64_t>(bytes * 0x0101010101010101 >> 56);
    }
    return total;
}

inline std::uint64_t equal_bits(const std::uint8_t* codes, std::uint8_t value) {
    std::uint64_t bits = 0;
    for (int r = 0; r < 64; ++r) bits |= static_cast<std::uint64_t>(codes[r] == value) << r;
    return bits;
}

#endif

}  // namespace posteriori
