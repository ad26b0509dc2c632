// The variables of one block in vector registers, and the best of them.
#pragma once
#include <limits>
#include <vector>

#include "lanes.hpp"

namespace posteriori::smo {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double HUGE_STEP = 1e60;
constexpr double FLAT = 1e-12;  // the least curvature: K_ii + K_jj − 2K_ij may be 0, or negative for a kernel that is none

// As many kernel values as lanes of S
template <typename S, typename T> POSTERIORI_INLINE Vec<S> widen(const T* p) {
    if constexpr (sizeof(S) == sizeof(T)) {
        return load<T>(p);
    } else {
#ifdef __AVX2__
        return (Vec<S>)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
        return Vec<S>{static_cast<S>(p[0]), static_cast<S>(p[1])};
#endif
    }
}

struct Best {
    double value;
    std::size_t at;
};

// The largest of the lanes, and of the lanes' bests; among equals the first. No branch: which lane it is nobody can foretell.
template <typename T> POSTERIORI_INLINE T top_lane(Vec<T> value) {
    T top = value[0];
    for (std::size_t l = 1; l < WIDTH<T>; ++l) top = value[l] > top ? value[l] : top;
    return top;
}
template <typename T> POSTERIORI_INLINE Best best_lane(Vec<T> value, Vec<T> at) {
    const T top = top_lane<T>(value);
    const Vec<T> here = value == spread<T>(top) ? -at : spread<T>(-std::numeric_limits<T>::max());
    return {static_cast<double>(top), static_cast<std::size_t>(-top_lane<T>(here))};
}

template <typename T> POSTERIORI_INLINE Vec<T> first_places() {
    Vec<T> out;
    for (std::size_t l = 0; l < WIDTH<T>; ++l) out[l] = static_cast<T>(l);
    return out;
}

// The block's vectors in lanes of S, padded to whole registers by variables that may not move.
template <typename T, typename S> struct Block {
    static constexpr std::size_t W = WIDTH<S>;
    std::size_t padded;
    std::vector<S> v, up, down, diagonal;  // up, down: 0 where the variable may move that way, else −∞ and +∞

    Block(const T* K, std::size_t q, std::size_t stride, const double* v_)
        : padded((q + W - 1) / W * W), v(padded), up(padded, -std::numeric_limits<S>::infinity()),
          down(padded, std::numeric_limits<S>::infinity()), diagonal(padded, S(1)) {
        for (std::size_t i = 0; i < q; ++i) v[i] = static_cast<S>(v_[i]), diagonal[i] = static_cast<S>(K[i * stride + i]);
    }

    // i: the largest v of those that may go up
    Best first() const {
        Vec<S> value = spread<S>(-std::numeric_limits<S>::infinity()), at{}, here = first_places<S>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W))
            take_better(load(v.data() + k) + load(up.data() + k), here, value, at);
        return best_lane<S>(value, at);
    }

    // j: among those that may go down, the largest gain (v_i − v_j)² / (K_ii + K_jj − 2K_ij); and the largest v_i − v_j
    Best second(const T* row, S vi, S Kii, double& gap) const {
        Vec<S> value{}, at{}, here = first_places<S>(), widest = spread<S>(-std::numeric_limits<S>::infinity());
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W)) {
            const Vec<S> fall = vi - (load(v.data() + k) + load(down.data() + k)), real = larger<S>(fall, Vec<S>{});
            const Vec<S> bend = (Kii + load(diagonal.data() + k)) - S(2) * widen<S>(row + k);
            widest = larger<S>(widest, fall);
            take_better(real * real / larger<S>(bend, spread<S>(static_cast<S>(FLAT))), here, value, at);
        }
        gap = static_cast<double>(top_lane<S>(widest));
        return best_lane<S>(value, at);
    }

    // v follows the steps of a pair; and the next i, found on the way
    Best move(const T* row_i, S step_i, const T* row_j, S step_j) {
        Vec<S> value = spread<S>(-std::numeric_limits<S>::infinity()), at{}, here = first_places<S>();
        for (std::size_t k = 0; k < padded; k += W, here += static_cast<S>(W)) {
            const Vec<S> now = load(v.data() + k) - step_i * widen<S>(row_i + k) - step_j * widen<S>(row_j + k);
            store<S>(v.data() + k, now);
            take_better(now + load(up.data() + k), here, value, at);
        }
        return best_lane<S>(value, at);
    }

    void allow(std::size_t i, double beta, double low, double high) {
        up[i] = beta < high ? S(0) : -std::numeric_limits<S>::infinity();
        down[i] = beta > low ? S(0) : std::numeric_limits<S>::infinity();
    }

    static POSTERIORI_INLINE void take_better(Vec<S> x, Vec<S> here, Vec<S>& value, Vec<S>& at) {
        const auto better = x > value;
        value = better ? x : value;
        at = better ? here : at;
    }
};

}  // namespace posteriori::smo
