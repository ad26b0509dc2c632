// Sparse rows and logarithms of counts for Python. Shapes are checked here; dtypes are never converted.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "naive/naive.hpp"
#include "numbers.hpp"

using namespace posteriori;
namespace {

using Stored = std::optional<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

Number number_of(nb::dlpack::dtype type) {
    if (type == nb::dtype<double>()) return Number::f64;
    if (type == nb::dtype<float>()) return Number::f32;
    if (type == nb::dtype<std::int64_t>()) return Number::i64;
    if (type == nb::dtype<std::int32_t>()) return Number::i32;
    if (type == nb::dtype<std::uint8_t>() || type == nb::dtype<bool>()) return Number::u8;
    throw nb::type_error("cells are float64, float32, int64, int32, uint8 or bool");
}

// Index arrays of one type, int32 or int64, and cells of a type that the kernels read.
struct Rows {
    nb::object indptr, indices;
    Stored data;

    Rows(nb::handle indptr_, nb::handle indices_, nb::handle data_) : indptr(nb::borrow(indptr_)), indices(nb::borrow(indices_)) {
        if (!(fits<std::int32_t>() || fits<std::int64_t>())) indptr = indptr.attr("astype")("int64"), indices = indices.attr("astype")("int64");
        if (data_.is_none()) return;
        data.emplace();
        if (!nb::try_cast(data_, *data, false) || !read(data->dtype()))
            if (!nb::try_cast(data_.attr("astype")("float64"), *data, false)) throw nb::next_overload();
    }
    template <typename I> bool fits() const {
        InC<I, 1> a, b;
        return nb::try_cast(indptr, a, false) && nb::try_cast(indices, b, false);
    }
    static bool read(nb::dlpack::dtype type) {
        for (auto one : {nb::dtype<double>(), nb::dtype<float>(), nb::dtype<std::int64_t>(), nb::dtype<std::int32_t>(), nb::dtype<std::uint8_t>(), nb::dtype<bool>()})
            if (type == one) return true;
        return false;
    }
    // run(X) of the matrix with d columns; cells count as 1 above `above`, else 0, if it is told.
    template <typename Run> auto with(std::size_t d, std::optional<double> above, const Run& run) const {
        return fits<std::int32_t>() ? run(matrix<std::int32_t>(d, above)) : run(matrix<std::int64_t>(d, above));
    }

   private:
    template <typename I> Sparse<I> matrix(std::size_t d, std::optional<double> above) const {
        InC<I, 1> starts, columns;
        if (!nb::try_cast(indptr, starts, false) || !nb::try_cast(indices, columns, false)) throw nb::next_overload();
        need(starts.shape(0) >= 1, "indptr is empty");
        need(!data || data->shape(0) >= columns.shape(0), "data and indices differ in length");
        return {starts.data(), columns.data(), data ? data->data() : nullptr, data ? number_of(data->dtype()) : Number::one,
                starts.shape(0) - 1, d, columns.shape(0), above.value_or(std::nan(""))};
    }
};

nb::tuple count_rows(nb::handle indptr, nb::handle indices, nb::handle data, std::size_t d, Any1 y, std::size_t K,
                     std::optional<AnyC> w, std::optional<double> above, nb::handle n_jobs) {
    const Rows rows(indptr, indices, data);
    refuse_large(d, K, 3);  // the counts, and the logarithms that are made of them
    const auto table = large_table(d, K, true);
    const int seen = rows.with(d, above, [&](const auto& X) {
        const Shares shares(w, X.n, K);
        const int threads = team(n_jobs, 4 * X.stored);
        if (!shares.shared) {
            need(y.shape(0) == X.n, "X and y differ in length");
            const Column classes = column_of(y, 4);
            return without_gil([&] { return count_sparse(X, classes, K, shares.weights, table.data, threads); });
        }
        return without_gil([&] {
            int all = SOUND;
            const unsigned char no_class = 0;
            std::vector<double> own(X.n), counts(d);
            for (std::size_t c = 0; c < K; ++c) {
                for (std::size_t r = 0; r < X.n; ++r) own[r] = shares.weights[r * K + c];
                std::fill(counts.begin(), counts.end(), 0.0);
                all |= count_sparse(X, {&no_class, 0, 1}, 1, own.data(), counts.data(), threads);
                for (std::size_t j = 0; j < d; ++j) table.data[j * K + c] = counts[j];
            }
            return all;
        });
    });
    return nb::make_tuple(table.array, seen);
}

nb::tuple scored_rows(nb::handle indptr, nb::handle indices, nb::handle data, const InC<double, 2>& table, const AnyC& start,
                      const Weights& low, std::optional<double> above, bool posterior, nb::handle n_jobs) {
    const Rows rows(indptr, indices, data);
    const std::size_t K = table.shape(1);
    need(!low || low->shape(0) == K, "low is not (K,)");
    return rows.with(table.shape(0), above, [&](const auto& X) {
        const auto out = large_table(X.n, K);
        Scores to = scores_of(start, out.data, X.n, K, posterior);
        to.low = low ? low->data() : nullptr;
        const int threads = team(n_jobs, X.stored * (2 + K / 2) + 4 * X.n * K);
        int seen = SOUND;
        const auto impossible = without_gil([&] { return score_sparse(X, table.data(), K, to, threads, &seen); });
        return nb::make_tuple(out.array, impossible, seen);
    });
}

template <typename T> void bind_logs(nb::module_& m) {
    m.def(
        "log_counts",
        [](InC<T, 2> counts, InC<std::int64_t, 1> offsets, InC<double, 1> alpha, InC<double, 2> below, bool others, Weights by_class,
           std::optional<InC<double, 2>> less, nb::handle n_jobs) {
            const std::size_t rows = counts.shape(0), K = counts.shape(1);
            need(K > 0 && offsets.shape(0) > 0 && offsets(0) == 0, "no classes, or offsets that do not begin at 0");
            const std::size_t scopes = offsets.shape(0) - 1;
            for (std::size_t s = 0; s < scopes; ++s) need(offsets(s) <= offsets(s + 1), "offsets fall");
            need(offsets(scopes) == static_cast<std::int64_t>(rows), "the table does not have the cells of offsets");
            need(!by_class || by_class->shape(0) == K, "there is one whole for each class");
            need(alpha.shape(0) == 1 || alpha.shape(0) == rows, "there is one alpha, or one for each row");
            need(below.shape(0) == scopes && below.shape(1) == K, "below is not (scopes, K)");
            need(!less || (less->shape(0) == rows && less->shape(1) == K), "less is not (rows, K)");
            const Parts<T> parts{counts.data(), others, by_class ? by_class->data() : nullptr, alpha.data(),
                                 alpha.shape(0) == 1, less ? less->data() : nullptr};
            const auto out = large_table(rows, K);
            const int threads = team(n_jobs, 4 * rows * K);
            const bool finite = without_gil([&] { return log_counts<T>(parts, K, offsets.data(), scopes, below.data(), out.data, threads); });
            return nb::make_tuple(out.array, finite);
        },
        nb::arg("counts"), as_is("offsets"), as_is("alpha"), as_is("below"), nb::arg("others") = false, maybe("by_class"),
        maybe("less"), jobs());
}

}  // namespace

void bind_sparse(nb::module_& m) {
    m.attr("NEGATIVE") = static_cast<int>(NEGATIVE), m.attr("NOT_FINITE") = static_cast<int>(NOT_FINITE);
    m.def("count_sparse", &count_rows, nb::arg("indptr"), nb::arg("indices"), nb::arg("data").none(), nb::arg("n_columns"),
          as_is("y"), nb::arg("n_classes"), maybe("weights"), nb::arg("above") = nb::none(), jobs());
    m.def("score_sparse", &scored_rows, nb::arg("indptr"), nb::arg("indices"), nb::arg("data").none(), as_is("table"),
          as_is("start"), maybe("low"), nb::arg("above") = nb::none(), nb::arg("posterior") = false, jobs());
    bind_logs<double>(m);
    bind_logs<std::int64_t>(m);
    m.def(
        "column_sums",
        [](InC<double, 2> x, nb::handle n_jobs) {
            const std::size_t rows = x.shape(0), K = x.shape(1);
            const auto high = empty<double>({K}), low = empty<double>({K});
            const int threads = team(n_jobs, 4 * rows * K);
            without_gil([&] { column_sums(x.data(), rows, K, high.data, low.data, threads); });
            return nb::make_tuple(high.array, low.array);
        },
        nb::arg("table"), jobs());
}
