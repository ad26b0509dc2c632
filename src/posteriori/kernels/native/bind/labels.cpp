// Labels and numbers as codes, for Python. Shapes are checked here; dtypes are never converted.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "naive/naive.hpp"
#include "numbers.hpp"

using namespace posteriori;
namespace {

// (distinct values, codes) of labels from lo to hi; the codes are bytes where the values are few.
template <typename T> nb::object codes_between(const In<T, 1>& y, T lo, T hi, int threads) {
    const std::size_t n = y.shape(0), span = static_cast<std::size_t>(static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo)) + 1;
    std::vector<T> classes;
    nb::object codes;
    const auto fill = [&](auto kind) {
        const auto out = empty<decltype(kind)>({n});
        classes = without_gil([&] { return label_codes<T>(y.data(), n, y.stride(0), lo, span, out.data, threads); });
        codes = out.array;
    };
    if (span <= 256) {
        fill(std::uint8_t{});
    } else {
        fill(std::uint16_t{});
        if (classes.size() <= 256) codes = codes.attr("astype")("uint8");
    }
    const auto values = empty<T>({classes.size()});
    std::copy(classes.begin(), classes.end(), values.data);
    return nb::make_tuple(values.array, codes);
}

template <typename T> void bind_labels_of(nb::module_& m) {
    m.def(
        "encode_integers",
        [](In<T, 1> y) -> nb::object {
            const std::size_t n = y.shape(0), some = 1 + n / 1024;  // of which some say where all lie: one read, and two where they were wrong
            const std::uint64_t most = std::min<std::uint64_t>(1 << 16, 256 + 16 * static_cast<std::uint64_t>(n));
            need(n > 0, "no labels");
            const int threads = team(nb::none(), 2 * n);
            T lo, hi;
            const auto range = [&](std::size_t step, int team) {
                return without_gil([&] { return label_range<T>(y.data(), (n - 1) / step + 1, y.stride(0) * static_cast<std::ptrdiff_t>(step), most, &lo, &hi, team); });
            };
            if (!range(some, 1)) return nb::none();
            try {
                return codes_between<T>(y, lo, hi, threads);
            } catch (const std::out_of_range&) {
                return range(1, threads) ? codes_between<T>(y, lo, hi, threads) : nb::none();
            }
        },
        as_is("y"));
}

template <typename T> void bind_narrow_of(nb::module_& m) {
    m.def(
        "narrow",
        [](nb::ndarray<const T, nb::device::cpu> X, nb::handle n_jobs) -> nb::object {
            const bool flat = X.ndim() == 1;
            need(flat || X.ndim() == 2, "X has one axis, or two");
            const std::size_t n = X.shape(0), d = flat ? 1 : X.shape(1);
            const auto across = flat ? 1 : X.stride(1);
            const bool by_rows = (d <= 1 || across == 1) && (n <= 1 || X.stride(0) == static_cast<std::ptrdiff_t>(d));
            need(by_rows || ((n <= 1 || X.stride(0) == 1) && (d <= 1 || across == static_cast<std::ptrdiff_t>(n))), "X is not contiguous");
            const auto out = flat ? empty<std::uint8_t>({n}) : by_rows ? empty<std::uint8_t>({n, d}) : empty<std::uint8_t>({d, n});
            const int threads = team(n_jobs, n * d / 2);
            if (!without_gil([&] { return narrow<T>(X.data(), n * d, out.data, threads); })) return nb::none();
            return by_rows ? out.array : nb::object(out.array.attr("T"));
        },
        as_is("X"), jobs());
}

template <typename... T> void bind_all_labels(nb::module_& m) { (bind_labels_of<T>(m), ...); }
template <typename... T> void bind_all_narrow(nb::module_& m) { (bind_narrow_of<T>(m), ...); }

}  // namespace

void bind_labels(nb::module_& m) {
    bind_all_labels<std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint64_t, std::uint32_t, std::uint16_t, std::uint8_t>(m);
    bind_all_narrow<double, float, std::int64_t, std::int32_t>(m);
}
