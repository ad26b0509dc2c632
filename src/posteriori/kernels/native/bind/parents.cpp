#include "pairs/parents.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "pairs/pair_parents.hpp"

namespace {

using Codes = InC<std::int32_t, 2>;
using Table = InC<double, 3>;

template <typename T> posteriori::ParentTable parent_table(const T& t, std::size_t n_classes, std::size_t block) {
    need(n_classes > 0, "there is no class");
    need(block > 0, "a block has at least one factor");
    need(t.shape(2) >= n_classes && (t.shape(2) == 2 || t.shape(2) % 4 == 0), "the classes of a table are not padded");
    return {t.data(), t.shape(0), t.shape(1), t.shape(2)};
}

template <typename N> void bind_pair_tables(nb::module_& m) {
    m.def(
        "pair_tables",
        [](const Codes& scopes, const InC<std::int64_t, 1>& offsets, std::optional<InC<std::int64_t, 1>> cells,
           const InC<N, 2>& counts, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& keys,
           double smoothing, OutC<double, 3> theta, int threads) {
            const std::size_t T = scopes.shape(0), C = counts.shape(0), K = counts.shape(1), d = sizes.size();
            need(scopes.shape(1) == 3 && offsets.shape(0) == T + 1, "three columns and a beginning a scope are needed");
            need(offsets(0) == 0 && static_cast<std::size_t>(offsets(T)) == C, "the scopes do not fill the counts");
            need(!cells || cells->shape(0) == C, "one name a cell is needed");
            std::int64_t values = 0, pairs = 0;
            for (const auto size : sizes) {
                need(size >= 0 && size < (std::int64_t{1} << 31), "a column has no such number of values");
                pairs += size * values, values += size;
            }
            parent_table(theta, K, 1);
            need(theta.shape(0) == keys.size() && theta.shape(1) == static_cast<std::size_t>(values), "θ has other rows or columns");
            for (std::size_t r = 0; r < keys.size(); ++r)
                need(keys[r] < pairs && keys[r] >= 0 && (r == 0 || keys[r - 1] < keys[r]), "the keys do not rise");
            for (std::size_t s = 0; s < T; ++s) {
                std::size_t c[3];
                for (std::size_t k = 0; k < 3; ++k) {
                    c[k] = static_cast<std::size_t>(scopes(s, k));
                    need(scopes(s, k) >= 0 && c[k] < d && (k == 0 || c[k - 1] < c[k]), "the columns of a scope do not rise");
                }
                const std::int64_t begin = offsets(s), end = offsets(s + 1);
                need(begin <= end && static_cast<std::size_t>(end) <= C, "offsets fall");
                const double full = static_cast<double>(sizes[c[0]]) * static_cast<double>(sizes[c[1]]) * static_cast<double>(sizes[c[2]]);
                if (!cells) need(static_cast<double>(end - begin) <= full, "a scope has too many cells");
                for (std::int64_t t = begin; cells && t < end; ++t)
                    need((*cells)(t) >= 0 && static_cast<double>((*cells)(t)) < full, "a cell is outside its scope");
            }
            const posteriori::Triples<N> triples{scopes.data(), offsets.data(), cells ? cells->data() : nullptr, counts.data(), T, K};
            nb::gil_scoped_release release;
            posteriori::pair_tables<N>(triples, sizes, keys, smoothing, theta.shape(2), theta.data(), threads);
        },
        nb::arg("scopes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("cells").noconvert().none(),
        nb::arg("counts").noconvert(), nb::arg("sizes"), nb::arg("keys"), nb::arg("smoothing"), nb::arg("theta").noconvert(),
        nb::arg("threads"));
}

}  // namespace

void bind_parents(nb::module_& m) {
    bind_pair_tables<std::int64_t>(m);
    bind_pair_tables<double>(m);
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
