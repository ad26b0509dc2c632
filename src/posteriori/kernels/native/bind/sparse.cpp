// Sparse rows and logarithms of counts for Python. Shapes are checked here; dtypes are never converted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

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

template <typename I>
Sparse<I> sparse_of(const InC<I, 1>& indptr, const InC<I, 1>& indices, const Stored& data, std::size_t d, double threshold) {
    need(indptr.shape(0) >= 1, "indptr is empty");
    need(!data || data->shape(0) >= indices.shape(0), "data and indices differ in length");
    return {indptr.data(), indices.data(), data ? data->data() : nullptr, data ? number_of(data->dtype()) : Number::one,
            indptr.shape(0) - 1, d, indices.shape(0), threshold};
}

template <typename I> void bind_rows(nb::module_& m) {
    m.def(
        "count_sparse",
        [](InC<I, 1> indptr, InC<I, 1> indices, Stored data, Any1 y, Weights w, OutC<double, 2> table, double threshold,
           int threads) {
            const auto X = sparse_of<I>(indptr, indices, data, table.shape(0), threshold);
            need(y.shape(0) == X.n, "X and y differ in length");
            const double* weights = weights_of(w, X.n);
            const Column classes = column_of(y, 4);
            nb::gil_scoped_release release;
            return count_sparse<I>(X, classes, table.shape(1), weights, table.data(), threads);
        },
        nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("data").noconvert().none(),
        nb::arg("y").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("table").noconvert(),
        nb::arg("threshold"), nb::arg("threads"));
    m.def(
        "score_sparse",
        [](InC<I, 1> indptr, InC<I, 1> indices, Stored data, InC<double, 2> table,
           nb::ndarray<const double, nb::c_contig, nb::device::cpu> start, Weights low, OutC<double, 2> out, bool posterior,
           double threshold, int threads) {
            const auto X = sparse_of<I>(indptr, indices, data, table.shape(0), threshold);
            Scores to = scores_of(start, out, X.n, table.shape(1), posterior);
            need(!low || low->shape(0) == table.shape(1), "low is not (K,)");
            to.low = low ? low->data() : nullptr;
            int seen = SOUND;
            std::int64_t impossible;
            {
                nb::gil_scoped_release release;
                impossible = score_sparse<I>(X, table.data(), table.shape(1), to, threads, &seen);
            }
            return std::make_pair(impossible, seen);
        },
        nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("data").noconvert().none(),
        nb::arg("table").noconvert(), nb::arg("start").noconvert(), nb::arg("low").noconvert().none(),
        nb::arg("out").noconvert(), nb::arg("posterior"), nb::arg("threshold"), nb::arg("threads"));
}

template <typename T> void bind_logs(nb::module_& m) {
    m.def(
        "log_counts",
        [](InC<T, 2> counts, InC<std::int64_t, 1> offsets, bool others, Weights by_class, InC<double, 1> alpha,
           InC<double, 2> below, std::optional<InC<double, 2>> less, OutC<double, 2> out, int threads) {
            const std::size_t rows = counts.shape(0), K = counts.shape(1);
            need(K > 0 && offsets.shape(0) > 0 && offsets(0) == 0, "no classes, or offsets that do not begin at 0");
            const std::size_t scopes = offsets.shape(0) - 1;
            for (std::size_t s = 0; s < scopes; ++s) need(offsets(s) <= offsets(s + 1), "offsets fall");
            need(offsets(scopes) == static_cast<std::int64_t>(rows), "the table does not have the cells of offsets");
            need(!by_class || by_class->shape(0) == K, "there is one whole for each class");
            need(alpha.shape(0) == 1 || alpha.shape(0) == rows, "there is one alpha, or one for each row");
            need(below.shape(0) == scopes && below.shape(1) == K, "below is not (scopes, K)");
            need(out.shape(0) == rows && out.shape(1) == K, "out is not (rows, K)");
            need(!less || (less->shape(0) == rows && less->shape(1) == K), "less is not (rows, K)");
            const Parts<T> parts{counts.data(), others, by_class ? by_class->data() : nullptr, alpha.data(),
                                 alpha.shape(0) == 1, less ? less->data() : nullptr};
            nb::gil_scoped_release release;
            return log_counts<T>(parts, K, offsets.data(), scopes, below.data(), out.data(), threads);
        },
        nb::arg("counts").noconvert(), nb::arg("offsets").noconvert(), nb::arg("others"),
        nb::arg("by_class").noconvert().none(), nb::arg("alpha").noconvert(), nb::arg("below").noconvert(),
        nb::arg("less").noconvert().none(), nb::arg("out").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_sparse(nb::module_& m) {
    bind_rows<std::int32_t>(m);
    bind_rows<std::int64_t>(m);
    bind_logs<double>(m);
    bind_logs<std::int64_t>(m);
}
