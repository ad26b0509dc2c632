// Bins of a column of numbers: where greedy cuts lie, and in which bin each number is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "densities.hpp"

namespace posteriori {

std::vector<std::size_t> greedy_cuts(const double* rising, std::size_t n, std::size_t bins) {
    std::vector<std::size_t> firsts;
    const auto runs = [&](auto&& see) {  // see(first, end) of each run of one value
        for (std::size_t at = 0; at < n;) {
            std::size_t end = at + 1;
            while (end < n && rising[end] == rising[at]) ++end;
            see(at, end);
            at = end;
        }
    };
    const auto heavy = [&](std::size_t count) { return count * bins >= n; };
    std::size_t values = 0, alone = 0, whole = 0;
    runs([&](std::size_t at, std::size_t end) { ++values, heavy(end - at) ? ++alone : whole += end - at; });
    const double room = static_cast<double>(std::max<std::size_t>(1, bins > alone ? bins - alone : 0));
    const double share = whole > 0 ? room / static_cast<double>(whole) : 0.0;
    double before = 0, last = 0;
    bool was = false;
    runs([&](std::size_t at, std::size_t end) {
        const bool is = heavy(end - at);
        const double light = is ? 0.0 : static_cast<double>(end - at);
        before += light;
        const double place = std::min(std::floor((before - light / 2) * share), room - 1);  // by the middle of a value's weight
        if (at > 0 && (values <= bins || is || was || place != last)) firsts.push_back(at);
        last = place, was = is;
    });
    return firsts;
}

template <typename C> void bin_codes(const double* x, std::size_t n, const double* cuts, std::size_t count, C* out) {
    std::size_t wide = 1;
    while (wide <= count) wide *= 2;
    std::vector<double> padded(wide, std::numeric_limits<double>::infinity());
    std::copy(cuts, cuts + count, padded.begin());
    constexpr std::size_t TEAM = 8;  // searches side by side
    for (std::size_t from = 0; from < n; from += TEAM) {
        const std::size_t team = std::min(TEAM, n - from);
        double own[TEAM] = {};
        std::size_t at[TEAM] = {};
        std::copy(x + from, x + from + team, own);
        for (std::size_t step = wide / 2; step > 0; step /= 2)
            for (std::size_t q = 0; q < TEAM; ++q) at[q] += padded[at[q] + step - 1] <= own[q] ? step : 0;
        for (std::size_t q = 0; q < team; ++q) out[from + q] = static_cast<C>(std::isnan(own[q]) ? count + 1 : std::min(at[q], count));
    }
}

template void bin_codes<std::uint8_t>(const double*, std::size_t, const double*, std::size_t, std::uint8_t*);
template void bin_codes<std::uint16_t>(const double*, std::size_t, const double*, std::size_t, std::uint16_t*);

}  // namespace posteriori
