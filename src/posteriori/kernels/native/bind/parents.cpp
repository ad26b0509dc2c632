#include "pairs/parents.hpp"

#include <nanobind/stl/optional.h>

#include "bind.hpp"

namespace {

using Codes = InC<std::int32_t, 2>;
using Table = InC<double, 3>;

posteriori::ParentTable parent_table(const Table& t, std::size_t n_classes, std::size_t block) {
    need(n_classes > 0, "there is no class");
    need(block > 0, "a block has at least one factor");
    need(t.shape(2) >= n_classes && (t.shape(2) == 2 || t.shape(2) % 4 == 0), "the classes of a table are not padded");
    return {t.data(), t.shape(0), t.shape(1), t.shape(2)};
}

}  // namespace

void bind_parents(nb::module_& m) {
    m.def(
        "sum_of_products",
        [](const Codes& rows, const Codes& columns, const Table& theta, std::size_t block, OutC<double, 2> out, int threads) {
            need(rows.shape(0) == columns.shape(0) && rows.shape(0) == out.shape(0), "rows differ in number");
            const auto table = parent_table(theta, out.shape(1), block);
            nb::gil_scoped_release release;
            posteriori::sum_of_products(rows.data(), rows.shape(1), columns.data(), columns.shape(1), rows.shape(0), table,
                                        out.shape(1), block, out.data(), threads);
        },
        nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("theta").noconvert(), nb::arg("block"),
        nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "leave_one_out",
        [](const Codes& codes, const InC<std::int32_t, 1>& first, const InC<std::int32_t, 1>& y, const Table& theta,
           const Table& own, std::optional<Table> totals, const InC<double, 1>& prior, const InC<double, 1>& prior_own,
           std::optional<InC<double, 1>> weights, std::size_t block, OutC<double, 2> sums, int threads) {
            const std::size_t n = codes.shape(0), d = codes.shape(1), K = prior.shape(0);
            const auto table = parent_table(theta, K, block);
            need(y.shape(0) == n && prior_own.shape(0) == n && (!weights || weights->shape(0) == n), "rows differ in number");
            need(d > 0, "there is no column");
            need(first.shape(0) == d + 1 && sums.shape(0) == d && sums.shape(1) == 3, "one candidate a column is needed");
            for (std::size_t k = 0; k < 3; ++k) need(own.shape(k) == theta.shape(k), "the tables differ in shape");
            if (totals)
                need(totals->shape(0) == table.rows && totals->shape(1) == d && totals->shape(2) == table.padded,
                     "the totals do not fit the tables");
            need(table.rows == table.columns, "every value is a row and a column of the table");
            for (std::size_t i = 0; i < d; ++i)
                need(first.data()[i] >= 0 && first.data()[i] <= first.data()[i + 1] &&
                         static_cast<std::size_t>(first.data()[d]) == table.rows,
                     "the table rows of the columns are out of order");
            for (std::size_t r = 0; r < n; ++r)
                need(y.data()[r] >= 0 && static_cast<std::size_t>(y.data()[r]) < K, "a class code is out of range");
            const posteriori::LeaveOneOut all{table,        own.data(),       totals ? totals->data() : nullptr,
                                              prior.data(), prior_own.data(), first.data(), d};
            nb::gil_scoped_release release;
            posteriori::leave_one_out(all, codes.data(), n, y.data(), K, weights ? weights->data() : nullptr, block,
                                      sums.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("first").noconvert(), nb::arg("y").noconvert(), nb::arg("theta").noconvert(),
        nb::arg("own").noconvert(), nb::arg("totals").noconvert().none(), nb::arg("prior").noconvert(),
        nb::arg("prior_own").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("block"), nb::arg("sums").noconvert(),
        nb::arg("threads"));
}
