#include "pairs/pairs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

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

template <typename Table> void check_table(const std::vector<std::uint32_t>& sizes, std::size_t n_columns, const Table& table) {
    need(sizes.size() == n_columns, "one size a column is needed");
    need(table.shape(1) > 0 && table.shape(1) < kMostClasses, "there is no class, or more than 2³¹ of them");
    std::size_t after = 0, needed = 0;
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
        needed += *it * after;
        after += *it;
    }
    need(needed == table.shape(0), "the table does not have the cells of all pairs");
}

// The steps of the order, every rung within the tables.
std::vector<posteriori::Ladder> ladders_of(const InC<std::int64_t, 1>& ends, const InC<std::int32_t, 1>& items,
                                           const InC<std::int64_t, 1>& begins, const std::vector<std::uint32_t>& sizes,
                                           std::size_t n_cells) {
    need(begins.shape(0) == items.shape(0), "one beginning a rung is needed");
    std::vector<posteriori::Ladder> steps;
    std::size_t at = 0;
    for (auto& family : lists_of(ends, items, sizes.size())) {
        need(!family.empty(), "a family has no child");
        double cells = sizes[static_cast<std::size_t>(family[0])];
        std::vector<std::int64_t> first;
        for (std::size_t rung = 0; rung < family.size(); ++rung, ++at) {
            if (rung) cells *= sizes[static_cast<std::size_t>(family[rung])];
            need(begins(at) >= 0 && static_cast<double>(begins(at)) + cells <= static_cast<double>(n_cells),
                 "a rung lies outside the tables");
            first.push_back(begins(at));
        }
        steps.push_back({std::move(family), std::move(first)});
    }
    return steps;
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def(
        "count_pairs",
        [](const std::vector<AnyCodes>& columns, const std::vector<std::uint32_t>& sizes, const AnyCodes& y,
           OutC<std::int64_t, 2> table, int way, int threads) {
            need(way >= 0 && way <= static_cast<int>(PairWay::scalar), "no such way to count pairs");
            const auto list = code_columns(columns, y.shape(0));
            check_table(sizes, columns.size(), table);
            const auto classes = code_column(y);
            nb::gil_scoped_release release;
            posteriori::count_pairs(list, sizes, classes, static_cast<std::uint32_t>(table.shape(1)), y.shape(0),
                                    table.data(), static_cast<PairWay>(way), threads);
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("y").noconvert(), nb::arg("table").noconvert(), nb::arg("way"),
        nb::arg("threads"));
    m.def(
        "weigh_pairs",
        [](const std::vector<AnyCodes>& columns, const std::vector<std::uint32_t>& sizes, const AnyCodes& y,
           In<double, 1> weights, OutC<double, 2> table, int threads) {
            const auto list = code_columns(columns, y.shape(0));
            check_table(sizes, columns.size(), table);
            need(weights.shape(0) == y.shape(0), "weights and class have different lengths");
            const auto classes = code_column(y);
            nb::gil_scoped_release release;
            posteriori::weigh_pairs(list, sizes, classes, static_cast<std::uint32_t>(table.shape(1)), y.shape(0),
                                    weights.data(), weights.stride(0), table.data(), threads);
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("y").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("table").noconvert(), nb::arg("threads"));
    m.def(
        "share_pairs",
        [](const std::vector<AnyCodes>& columns, const std::vector<std::uint32_t>& sizes, InC<double, 2> shares,
           OutC<double, 2> table, int threads) {
            const auto list = code_columns(columns, shares.shape(0));
            check_table(sizes, columns.size(), table);
            need(shares.shape(1) == table.shape(1), "shares and table differ in their classes");
            nb::gil_scoped_release release;
            posteriori::share_pairs(list, sizes, static_cast<std::uint32_t>(table.shape(1)), shares.shape(0), shares.data(),
                                    table.data(), threads);
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("shares").noconvert(), nb::arg("table").noconvert(), nb::arg("threads"));
    m.def(
        "ladder_losses",
        [](const std::vector<AnyCodes>& columns, const std::vector<std::uint32_t>& sizes, const InC<std::int64_t, 1>& ends,
           const InC<std::int32_t, 1>& families, const InC<std::int64_t, 1>& begins, const InC<double, 2>& log_theta,
           const InC<double, 1>& start, const AnyCodes& y, std::optional<InC<double, 1>> weights, bool every,
           OutC<double, 3> sums, int threads) {
            const std::size_t n = y.shape(0), K = start.shape(0);
            need(sizes.size() == columns.size(), "one size a column is needed");
            need(K > 0 && log_theta.shape(1) == K, "the tables differ from the start in their classes");
            need(!weights || weights->shape(0) == n, "weights and class have different lengths");
            posteriori::Ladders all{code_columns(columns, n), sizes, ladders_of(ends, families, begins, sizes, log_theta.shape(0)),
                                    log_theta.data(), start.data(), K, 0, every};
            need(sums.shape(0) > 0 && sums.shape(1) == all.steps.size() + 1 && sums.shape(2) == 3, "sums are not [k, t, 3]");
            all.most = sums.shape(0) - 1;
            const auto classes = code_column(y);
            nb::gil_scoped_release release;
            posteriori::ladder_losses(all, classes, weights ? weights->data() : nullptr, n, sums.data(), threads);
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("ends").noconvert(), nb::arg("families").noconvert(),
        nb::arg("begins").noconvert(), nb::arg("log_theta").noconvert(), nb::arg("start").noconvert(), nb::arg("y").noconvert(),
        nb::arg("weights").noconvert().none(), nb::arg("every"), nb::arg("sums").noconvert(), nb::arg("threads"));
}
