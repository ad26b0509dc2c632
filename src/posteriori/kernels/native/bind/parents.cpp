#include "pairs/parents.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

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

// How many classes a table has room for: 2, or a multiple of 4.
std::size_t padded(std::size_t n_classes) { return n_classes <= 2 ? 2 : (n_classes + 3) / 4 * 4; }

// A table [row, cell, class] of one number. It begins where a cache line does, so that no four classes lie across two lines:
// where they did, by the luck of the process, the kernels took a sixth to a quarter longer.
New<double> new_parent_table(std::size_t rows, std::size_t cells, std::size_t n_classes, double number) {
    constexpr std::size_t LINE = 64 / sizeof(double);
    need(n_classes < 0x1p40 && (!rows || static_cast<double>(cells) * static_cast<double>(padded(n_classes)) < 0x1p60 / static_cast<double>(rows)),
         "more numbers than there is memory");
    const std::size_t size = rows * cells * padded(n_classes);
    const auto raw = empty<double>({size + LINE}, number == 0.0);
    const std::size_t first = (LINE - reinterpret_cast<std::uintptr_t>(raw.data) / sizeof(double) % LINE) % LINE;
    if (number != 0.0) std::fill_n(raw.data + first, size, number);
    const nb::object flat = raw.array[nb::slice(first, first + size)];
    return {flat.attr("reshape")(rows, cells, padded(n_classes)), raw.data + first};
}

// How many factors may be multiplied before the product can leave the normal numbers.
std::size_t block_of(const Table& theta) {
    double least = 1.0;
    for (const double *t = theta.data(), *end = t + theta.size(); t != end; ++t) least = *t > 0.0 && *t < least ? *t : least;
    return std::max<std::size_t>(1, static_cast<std::size_t>(900.0 / std::max(-std::log2(least), 1e-3)));
}

template <typename N> void bind_pair_tables(nb::module_& m) {
    m.def(
        "pair_tables",
        [](const Codes& scopes, const InC<std::int64_t, 1>& offsets, std::optional<InC<std::int64_t, 1>> cells,
           const InC<N, 2>& counts, const std::vector<std::int64_t>& sizes, const InC<std::int64_t, 1>& rising,
           double smoothing, nb::handle n_jobs) {
            const std::vector<std::int64_t> keys(rising.data(), rising.data() + rising.shape(0));
            const std::size_t T = scopes.shape(0), C = counts.shape(0), K = counts.shape(1), d = sizes.size();
            need(scopes.shape(1) == 3 && offsets.shape(0) == T + 1, "three columns and a beginning a scope are needed");
            need(offsets(0) == 0 && static_cast<std::size_t>(offsets(T)) == C, "the scopes do not fill the counts");
            need(!cells || cells->shape(0) == C, "one name a cell is needed");
            std::int64_t values = 0, pairs = 0;
            for (const auto size : sizes) {
                need(size >= 0 && size < (std::int64_t{1} << 31), "a column has no such number of values");
                pairs += size * values, values += size;
            }
            need(K > 0, "there is no class");
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
            const auto theta = new_parent_table(keys.size(), static_cast<std::size_t>(values), K, 0.0);
            const int threads = team(n_jobs, keys.size() * static_cast<std::size_t>(values) * padded(K));
            without_gil([&] { posteriori::pair_tables<N>(triples, sizes, keys, smoothing, padded(K), theta.data, threads); });
            return theta.array;
        },
        as_is("scopes"), as_is("offsets"), as_is("cells").none(), as_is("counts"), nb::arg("sizes"), nb::arg("keys"),
        nb::arg("smoothing"), jobs());
}

}  // namespace

void bind_parents(nb::module_& m) {
    bind_pair_tables<std::int64_t>(m);
    bind_pair_tables<double>(m);
    m.def("padded", &padded, nb::arg("n_classes"));
    m.def(
        "parent_table",
        [](std::size_t rows, std::size_t cells, std::size_t n_classes, double number) {
            return new_parent_table(rows, cells, n_classes, number).array;
        },
        nb::arg("rows"), nb::arg("cells"), nb::arg("n_classes"), nb::arg("number") = 1.0);
    m.def(
        "sum_of_products",
        [](const Codes& rows, const Codes& cells, const Table& theta, std::size_t K, nb::handle n_jobs) {
            const std::size_t n = rows.shape(0), block = block_of(theta);
            need(cells.shape(0) == n, "rows differ in number");
            const auto table = parent_table(theta, K, block);
            const auto out = empty<double>({n, K});
            const int threads = team(n_jobs, n * rows.shape(1) * cells.shape(1) * K / 8);
            without_gil([&] {
                posteriori::sum_of_products(rows.data(), rows.shape(1), cells.data(), cells.shape(1), n, table, K, block, out.data, threads);
            });
            return out.array;
        },
        nb::arg("rows"), nb::arg("cells"), as_is("theta"), nb::arg("n_classes"), jobs());
    m.def(
        "leave_one_out",
        [](const Codes& codes, const InC<std::int32_t, 1>& first, const InC<std::int32_t, 1>& y, const Table& theta,
           const Table& own, std::optional<Table> totals, const InC<double, 1>& prior, const InC<double, 1>& prior_own,
           std::optional<InC<double, 1>> weights, nb::handle n_jobs) {
            const std::size_t n = codes.shape(0), d = codes.shape(1), K = prior.shape(0);
            const std::size_t block = totals ? block_of(theta) : std::min(block_of(theta), block_of(own));
            const auto table = parent_table(theta, K, block);
            need(y.shape(0) == n && prior_own.shape(0) == n && (!weights || weights->shape(0) == n), "rows differ in number");
            need(d > 0, "there is no column");
            need(first.shape(0) == d + 1, "one candidate a column is needed");
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
            const auto sums = zeros<double>({d, 3});
            const int threads = team(n_jobs, n * d * d * K / 4);
            without_gil([&] {
                posteriori::leave_one_out(all, codes.data(), n, y.data(), K, weights ? weights->data() : nullptr, block, sums.data, threads);
            });
            return sums.array;
        },
        as_is("codes"), as_is("first"), as_is("y"), as_is("theta"), as_is("own"), as_is("totals").none(), as_is("prior"),
        as_is("prior_own"), maybe("weights"), jobs());
}
