// Back-off, the one formula of trees' paths and members' ladders; `smoothing.backoff` is the same in Python, for whole tables.
#pragma once

namespace posteriori {

// p_l = (n_l + c p_{l−1})/(N_l + c), and p_{l−1} where there is neither a row nor a concentration.
inline double leaned(double n, double N, double c, double above) { return N + c > 0 ? (n + c * above) / (N + c) : above; }

}  // namespace posteriori
