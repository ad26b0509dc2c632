// Labels and numbers as codes, for Python. Shapes are checked here; dtypes are never converted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "naive/naive.hpp"
#include "numbers.hpp"

using namespace posteriori;
namespace {

template <typename T> void bind_labels_of(nb::module_& m) {
    m.def(
        "label_range",
        [](In<T, 1> y, std::uint64_t most, int threads) -> std::optional<std::pair<T, T>> {
            need(y.shape(0) > 0, "no labels");
            const std::ptrdiff_t stride = y.stride(0);
            T lo, hi;
            nb::gil_scoped_release release;
            if (!label_range<T>(y.data(), y.shape(0), stride, most, &lo, &hi, threads)) return std::nullopt;
            return std::make_pair(lo, hi);
        },
        nb::arg("y").noconvert(), nb::arg("most"), nb::arg("threads"));
    auto codes = [](In<T, 1> y, T lo, std::size_t span, auto out, int threads) {
        need(out.shape(0) == y.shape(0), "codes differ from y in length");
        need(span - 1 <= std::numeric_limits<std::remove_reference_t<decltype(*out.data())>>::max(), "codes are too narrow");
        std::vector<T> classes;
        {
            nb::gil_scoped_release release;
            classes = label_codes<T>(y.data(), y.shape(0), y.stride(0), lo, span, out.data(), threads);
        }
        nb::list found;
        for (const T c : classes) found.append(c);
        return found;
    };
    m.def(
        "label_codes",
        [=](In<T, 1> y, T lo, std::size_t span, OutC<std::uint8_t, 1> out, int threads) {
            return codes(y, lo, span, out, threads);
        },
        nb::arg("y").noconvert(), nb::arg("lo"), nb::arg("span"), nb::arg("codes").noconvert(), nb::arg("threads"));
    m.def(
        "label_codes",
        [=](In<T, 1> y, T lo, std::size_t span, OutC<std::uint16_t, 1> out, int threads) {
            return codes(y, lo, span, out, threads);
        },
        nb::arg("y").noconvert(), nb::arg("lo"), nb::arg("span"), nb::arg("codes").noconvert(), nb::arg("threads"));
}

template <typename T> void bind_narrow_of(nb::module_& m) {
    m.def(
        "narrow",
        [](InC<T, 1> x, OutC<std::uint8_t, 1> out, int threads) {
            need(out.shape(0) == x.shape(0), "codes differ from x in length");
            nb::gil_scoped_release release;
            return narrow<T>(x.data(), x.shape(0), out.data(), threads);
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
}

template <typename... T> void bind_all_labels(nb::module_& m) { (bind_labels_of<T>(m), ...); }
template <typename... T> void bind_all_narrow(nb::module_& m) { (bind_narrow_of<T>(m), ...); }

}  // namespace

void bind_labels(nb::module_& m) {
    bind_all_labels<std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint64_t, std::uint32_t, std::uint16_t, std::uint8_t>(m);
    bind_all_narrow<double, float, std::int64_t, std::int32_t>(m);
}
