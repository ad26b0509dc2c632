// Back-off, the one formula of trees' paths and members' ladders; `smoothing.backoff` is the same in Python, for whole tables.
#pragma once
#include <cstddef>

namespace posteriori {

// p_l = (n_l + c p_{l−1})/(N_l + c), of several values or several concentrations at once, whichever `n` and `c` make of k; p_{l−1}
// stays where there is neither a row nor a concentration.
template <typename Rows, typename Weight> void lean(std::size_t size, Rows&& n, double N, Weight&& c, double* p) {
    if (N > 0)  // no branch within: several divisions at once
        for (std::size_t k = 0; k < size; ++k) p[k] = (n(k) + c(k) * p[k]) / (N + c(k));
    else
        for (std::size_t k = 0; k < size; ++k)
            if (c(k) > 0) p[k] = (n(k) + c(k) * p[k]) / (N + c(k));
}

// The same of one value.
inline double leaned(double n, double N, double c, double above) {
    lean(1, [n](std::size_t) { return n; }, N, [c](std::size_t) { return c; }, &above);
    return above;
}

}  // namespace posteriori
