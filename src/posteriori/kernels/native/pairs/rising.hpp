// ln Γ(a + n)/Γ(a), whose two terms agree in most of their digits where a is large.
#pragma once
#include <cmath>

namespace posteriori {

inline double log_rising(double a, double log_gamma_a, double n) {
    if (a < 1000.0) return std::lgamma(a + n) - log_gamma_a;
    const double x = 1.0 / a, y = 1.0 / (a + n);  // Stirling's series, term by term
    return (a - 0.5) * std::log1p(n / a) + n * (std::log(a + n) - 1.0) + (y - x) / 12.0 - (y * y * y - x * x * x) / 360.0;
}

}  // namespace posteriori
