#include "pairs/pairs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bind.hpp"
#include "pairs/ladders.hpp"

namespace {

using posteriori::Column;
using posteriori::PairWay;
constexpr std::size_t kMostClasses = std::size_t{1} << 31;
using AnyCodes = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

Column code_column(const AnyCodes& a) {
    const auto type = a.dtype();
    if (type.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt) ||
        (type.bits != 8 && type.bits != 16 && type.bits != 32))
        throw nb::type_error("codes must be uint8, uint16 or uint32");
    return {static_cast<const unsigned char*>(a.data()), a.stride(0) * (type.bits / 8), type.bits / 8};
}

std::vector<Column> code_columns(const std::vector<AnyCodes>& arrays, std::size_t n) {
    std::vector<Column> columns;
    for (const auto& a : arrays) {
        need(a.shape(0) == n, "columns and class have different lengths");
        columns.push_back(code_column(a));
    }
    return columns;
}

// The cells of all pairs of columns, of so many values each.
std::size_t cells_of_pairs(const std::vector<std::uint32_t>& sizes) {
    std::size_t after = 0;
    double cells = 0;
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
        cells += static_cast<double>(*it) * static_cast<double>(after);
        after += *it;
    }
    need(cells < 0x1p60, "more cells than there is memory");
    return static_cast<std::size_t>(cells);
}

using Rungs = std::vector<std::pair<std::vector<int>, std::vector<std::int64_t>>>;

// The steps of the order, every rung within the tables.
std::vector<posteriori::Ladder> ladders_of(const Rungs& ladders, const std::vector<std::uint32_t>& sizes, std::size_t n_cells) {
    std::vector<posteriori::Ladder> steps;
    for (const auto& [family, begins] : ladders) {
        need(!family.empty(), "a family has no child");
        need(begins.size() == family.size(), "one beginning a rung is needed");
        double cells = 1;
        for (std::size_t rung = 0; rung < family.size(); ++rung) {
            need(family[rung] >= 0 && static_cast<std::size_t>(family[rung]) < sizes.size(), "a family names no column");
            cells *= sizes[static_cast<std::size_t>(family[rung])];
            need(begins[rung] >= 0 && static_cast<double>(begins[rung]) + cells <= static_cast<double>(n_cells),
                 "a rung lies outside the tables");
        }
        steps.push_back({family, begins});
    }
    return steps;
}

// The columns of a matrix, or arrays of one axis.
std::vector<AnyCodes> arrays_of(nb::handle columns) {
    std::vector<AnyCodes> arrays;
    nb::object list = nb::borrow(columns);
    if (!PyList_Check(columns.ptr()) && !PyTuple_Check(columns.ptr())) list = columns.attr("T");
    for (nb::handle item : list) {
        arrays.emplace_back();
        if (!nb::try_cast(item, arrays.back(), false)) throw nb::type_error("columns are a matrix of codes, or arrays of one axis");
    }
    return arrays;
}

nb::object counted_pairs(nb::handle columns, const std::vector<std::uint32_t>& sizes, const AnyCodes& y, std::size_t K,
                         const nb::object& weights, const std::string& way, nb::handle n_jobs, nb::handle max_memory) {
    constexpr const char* ways[] = {"auto", "bitmaps", "scalar"};
    const auto* at = std::find(std::begin(ways), std::end(ways), way);
    need(at != std::end(ways), "no such way to count pairs");
    need(K > 0 && K < kMostClasses, "there is no class, or more than 2³¹ of them");
    const auto arrays = arrays_of(columns);
    const std::size_t n = y.shape(0), d = sizes.size(), cells = cells_of_pairs(sizes);
    need(arrays.size() == d, "one size a column is needed");
    refuse_over(max_memory, 8.0 * static_cast<double>(cells) * static_cast<double>(K),
                "pair counts of " + std::to_string(d) + " columns, " + std::to_string(K) + " classes", "give fewer columns or values");
    std::optional<In<double, 1>> w;
    std::optional<InC<double, 2>> shares;
    if (!weights.is_none()) {
        InC<double, 2> by_class;
        if (nb::try_cast(weights, by_class, false)) shares = by_class;
        else w = nb::cast<In<double, 1>>(weights);
    }
    need(!w || w->shape(0) == n, "weights and class have different lengths");
    need(!shares || (shares->shape(0) == n && shares->shape(1) == K), "shares are not (n, K)");
    const auto list = code_columns(arrays, n);
    New<std::int64_t> whole;
    New<double> table;
    if (weights.is_none()) whole = zeros<std::int64_t>({cells, K});
    else table = zeros<double>({cells, K});
    const nb::object made = weights.is_none() ? whole.array : table.array;
    if (cells == 0 || n == 0) return made;
    const int threads = team(n_jobs, n * d * d / 8);
    const auto classes_wide = static_cast<std::uint32_t>(K);
    if (shares) {
        without_gil([&] { posteriori::share_pairs(list, sizes, classes_wide, n, shares->data(), table.data, threads); });
        return made;
    }
    const auto classes = code_column(y);
    without_gil([&] {
        if (w) posteriori::weigh_pairs(list, sizes, classes, classes_wide, n, w->data(), w->stride(0), table.data, threads);
        else posteriori::count_pairs(list, sizes, classes, classes_wide, n, whole.data, static_cast<PairWay>(at - std::begin(ways)), threads);
    });
    return made;
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("count_pairs", &counted_pairs, nb::arg("columns"), nb::arg("sizes"), as_is("y"), nb::arg("n_classes"),
          nb::arg("weights") = nb::none(), nb::kw_only(), nb::arg("way") = "auto", jobs(), nb::arg("max_memory") = nb::none());
    m.def(
        "ladder_losses",
        [](const std::vector<AnyCodes>& columns, const std::vector<std::uint32_t>& sizes, const Rungs& ladders,
           const InC<double, 2>& log_theta, const InC<double, 1>& start, const AnyCodes& y, std::size_t most, bool every,
           std::optional<InC<double, 1>> weights, nb::handle n_jobs) {
            const std::size_t n = y.shape(0), K = start.shape(0), steps = ladders.size();
            need(sizes.size() == columns.size(), "one size a column is needed");
            need(K > 0 && log_theta.shape(1) == K, "the tables differ from the start in their classes");
            need(!weights || weights->shape(0) == n, "weights and class have different lengths");
            const posteriori::Ladders all{code_columns(columns, n), sizes, ladders_of(ladders, sizes, log_theta.shape(0)),
                                          log_theta.data(), start.data(), K, most, every};
            const auto classes = code_column(y);
            const auto sums = zeros<double>({most + 1, steps + 1, 3});
            const int threads = team(n_jobs, n * (most + 1) * steps * K * (every ? 4 : 1));
            without_gil([&] { posteriori::ladder_losses(all, classes, weights ? weights->data() : nullptr, n, sums.data, threads); });
            return sums.array;
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("ladders"), as_is("log_theta"), as_is("start"), as_is("y"),
        nb::arg("most"), nb::arg("every"), maybe("weights"), jobs());
}
