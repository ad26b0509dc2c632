// The kernels of densities.hpp for Python. Shapes are checked here; dtypes are never converted.
#include "naive/densities.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "numbers.hpp"
#include "threads.hpp"

namespace {

template <typename T> nb::object owned(std::vector<T>&& data, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

nb::list bind_histograms(Any2 X, Any1 y, Weights w, std::size_t K, std::size_t limit, int threads) {
    need(y.shape(0) == X.shape(0), "X and y differ in length");
    need(K > 0 && limit > 0, "there is a class and a cell at least");
    const double* weights = weights_of(w, X.shape(0));
    const Matrix<double> matrix = doubles_of(X);
    const Column classes = column_of(y, 4);
    std::vector<Binning> found;
    {
        nb::gil_scoped_release release;
        found = histograms(matrix, classes, K, weights, limit, threads);
    }
    nb::list out;
    for (auto& h : found) {
        const std::size_t V = h.keys.size();
        out.append(nb::make_tuple(owned(std::move(h.keys), {V}), owned(std::move(h.table), {V, K}), h.level, h.seen));
    }
    return out;
}

// Histograms laid end to end, that of column j from offsets[j] to offsets[j + 1], with the moments of the columns.
struct Columns {
    InC<double, 1> values, centres;
    InC<double, 2> table;
    InC<std::int64_t, 1> offsets;
    InC<std::uint8_t, 1> exact;
    InC<double, 3> moments;  // (d, K, 3)
    double smoothing, floor, ddof;

    Columns(InC<double, 1> values_, InC<double, 1> centres_, InC<double, 2> table_, InC<std::int64_t, 1> offsets_,
            InC<std::uint8_t, 1> exact_, InC<double, 3> moments_, double smoothing_, double floor_, double ddof_)
        : values(values_), centres(centres_), table(table_), offsets(offsets_), exact(exact_), moments(moments_),
          smoothing(smoothing_), floor(floor_), ddof(ddof_) {
        const std::size_t d = exact.shape(0);
        need(offsets.shape(0) == d + 1 && offsets(0) == 0, "offsets has one entry more than there are columns");
        for (std::size_t j = 0; j < d; ++j) need(offsets(j) <= offsets(j + 1), "offsets fall");
        const auto V = static_cast<std::size_t>(offsets(d));
        need(values.shape(0) == V && centres.shape(0) == V && table.shape(0) == V, "there are other cells than offsets say");
        need(table.shape(1) > 0, "there is a class at least");
        need(moments.shape(0) == d && moments.shape(1) == table.shape(1) && moments.shape(2) == 3, "moments are not (d, K, 3)");
        for (std::size_t j = 0; j < d; ++j)
            for (std::int64_t v = offsets(j); v + 1 < offsets(j + 1); ++v) need(values(v) < values(v + 1), "values do not rise");
        const std::size_t K = table.shape(1);
        for (std::size_t v = 0; v < V; ++v)
            need(std::any_of(&table(v, 0), &table(v, 0) + K, [](double n) { return n > 0.0; }), "a value was counted in no class");
    }
    std::size_t d() const { return exact.shape(0); }
    std::size_t K() const { return table.shape(1); }
    Histo column(std::size_t j) const {
        const auto from = static_cast<std::size_t>(offsets(j));
        return {values.data() + from, centres.data() + from, table.data() + from * K(),
                static_cast<std::size_t>(offsets(j + 1)) - from, K(), exact(j) != 0};
    }
    const Moment* of(std::size_t j) const { return reinterpret_cast<const Moment*>(moments.data()) + j * K(); }
    Settings how() const { return {smoothing, floor, ddof}; }
};

void bind_left_out(const Columns& columns, InC<double, 2> x, InC<std::uint32_t, 1> y, InC<double, 1> out,
                   InC<double, 1> turn, InC<double, 2> log_share, double folded, double worst, OutC<double, 4> parts,
                   int threads) {
    const std::size_t d = columns.d(), R = y.shape(0), K = columns.K();
    need(x.shape(0) == d && x.shape(1) == R, "x is not (d, R)");
    need(out.shape(0) == R && turn.shape(0) == R, "rows differ in number");
    need(log_share.shape(0) == R && log_share.shape(1) == K, "log_share is not (R, K)");
    need(parts.shape(0) == d && parts.shape(1) == 5 && parts.shape(2) == R && parts.shape(3) == K, "parts is not (d, 5, R, K)");
    for (std::size_t i = 0; i < R; ++i) need(y(i) < K && turn(i) >= 0.0 && turn(i) < 1.0, "a row has another class, or turn");
    std::vector<double> per_share(R * K);
    std::vector<char> sound(d, 1);
    for (std::size_t i = 0; i < R * K; ++i) per_share[i] = std::exp(-log_share.data()[i]);
    {
        nb::gil_scoped_release release;
        const Sampled rows{y.data(), out.data(), turn.data(), log_share.data(), per_share.data(), R, K, worst, std::exp(-worst)};
        parallel_for(d, threads, [&](std::size_t j) {
            sound[j] = left_out(columns.column(j), columns.of(j), x.data() + j * R, rows, columns.how(), folded,
                                parts.data() + j * 5 * R * K);
        });
    }
    for (std::size_t j = 0; j < d; ++j) need(sound[j], "a row is not in its histogram");
}

std::vector<std::int64_t> bind_search(InC<double, 2> start, InC<double, 4> parts, InC<std::uint32_t, 1> y,
                                      InC<double, 1> weights, InC<double, 1> errors, std::size_t first, std::size_t second,
                                      double lead, double worst, int rounds) {
    const std::size_t R = y.shape(0), K = start.shape(1), M = parts.shape(1);
    need(R > 0 && K > 0, "there is a row and a class at least");
    need(start.shape(0) == R && weights.shape(0) == R, "rows differ in number");
    need(parts.shape(2) == R && parts.shape(3) == K && errors.shape(0) == M, "parts is not (d, M, R, K)");
    need(first < M && second < M, "no such candidate");
    for (std::size_t i = 0; i < R; ++i) need(y(i) < K, "a row has another class");
    nb::gil_scoped_release release;
    return search({start.data(), parts.data(), weights.data(), errors.data(), y.data(), parts.shape(0), M, R, K, first,
                   second, lead, worst, rounds});
}

// The curves of several columns of a table of numbers.
struct Curves {
    std::vector<std::unique_ptr<Curve>> columns;
    std::size_t K;

    Curves(const Curves&) = delete;
    Curves(const Columns& given, InC<std::int32_t, 1> shapes, InC<double, 1> log_share, int threads) : K(given.K()) {
        need(shapes.shape(0) == given.d() && log_share.shape(0) == K, "there is a shape for each column, a share for each class");
        for (std::size_t j = 0; j < given.d(); ++j) need(shapes(j) >= 0 && shapes(j) <= 3, "no such shape");
        columns.resize(given.d());
        nb::gil_scoped_release release;
        parallel_for(given.d(), threads, [&](std::size_t j) {
            columns[j] = std::make_unique<Curve>(Shape(shapes(j)), given.column(j), given.of(j), log_share.data(), given.how());
        });
    }

    void check(const Any2& X, const InC<std::int64_t, 1>& at) const {
        need(at.shape(0) == columns.size(), "there is a column of X for each curve");
        for (std::size_t j = 0; j < columns.size(); ++j)
            need(at(j) >= 0 && static_cast<std::size_t>(at(j)) < X.shape(1), "X has no such column");
    }

    // out = start + Σ_j ln p(x_j|y); whether NaN (bit 1) or inf (bit 2) was among the cells.
    int score(Any2 X, InC<std::int64_t, 1> at, nb::ndarray<const double, nb::c_contig, nb::device::cpu> start,
              OutC<double, 2> out, int threads) const {
        const std::size_t n = X.shape(0);
        check(X, at);
        need(out.shape(0) == n && out.shape(1) == K, "out is not (n, K)");
        const bool one = start.ndim() == 1;
        need(one ? start.shape(0) == K : start.ndim() == 2 && start.shape(0) == n && start.shape(1) == K,
             "start is neither (K,) nor (n, K)");
        const Matrix<double> matrix = doubles_of(X);
        const std::size_t block = 512, blocks = (n + block - 1) / block;
        std::vector<int> seen(blocks, CLEAN);
        nb::gil_scoped_release release;
        parallel_for(blocks, threads, [&](std::size_t b) {
            const std::size_t begin = b * block, count = std::min(block, n - begin);
            std::vector<double> turned;
            std::ptrdiff_t step;
            const double* x = matrix.rows(begin, count, turned, &step);
            const std::size_t wide = rounded_up(K);
            std::vector<double> sums(count * wide);
            for (std::size_t r = 0; r < count; ++r)
                std::copy_n(start.data() + (one ? 0 : (begin + r) * K), K, sums.data() + r * wide);
            for (std::size_t j = 0; j < columns.size(); ++j)
                columns[j]->add(x + at(j), step, count, sums.data(), &seen[b]);
            for (std::size_t r = 0; r < count; ++r) std::copy_n(sums.data() + r * wide, K, out.data() + (begin + r) * K);
        });
        int all = CLEAN;
        for (const int s : seen) all |= s;
        return all;
    }

    // out[r, j] = ln p(x_rj|y), 0 where x is missing.
    void parts(Any2 X, InC<std::int64_t, 1> at, OutC<double, 3> out) const {
        const std::size_t n = X.shape(0), d = columns.size();
        check(X, at);
        need(out.shape(0) == n && out.shape(1) == d && out.shape(2) == K, "out is not (n, d, K)");
        const Matrix<double> matrix = doubles_of(X);
        const std::size_t wide = rounded_up(K);
        std::vector<double> turned;
        std::ptrdiff_t step;
        int seen = CLEAN;
        const double* x = matrix.rows(0, n, turned, &step);
        for (std::size_t j = 0; j < d; ++j) {
            std::vector<double> found(n * wide);
            columns[j]->add(x + at(j), step, n, found.data(), &seen);
            for (std::size_t r = 0; r < n; ++r) std::copy_n(found.data() + r * wide, K, out.data() + (r * d + j) * K);
        }
    }

    void information(InC<double, 1> prior, OutC<double, 1> out, int threads) const {
        need(prior.shape(0) == K && out.shape(0) == columns.size(), "there is a prior for each class, a number for each column");
        nb::gil_scoped_release release;
        parallel_for(columns.size(), threads, [&](std::size_t j) { out.data()[j] = columns[j]->information(prior.data()); });
    }

    // (μ and σ² of the normal for all, (K, 3): h, ln (1 − share)/(h √2π), ln share, and (v, w) of each class) of column j.
    nb::tuple kernels(std::size_t j) const {
        need(j < columns.size(), "no such column");
        const Kernels& held = columns[j]->kernels();
        std::vector<double> own;
        nb::list classes;
        for (const auto& c : held.classes) {
            own.insert(own.end(), {c.h, c.log_near, c.log_far});
            classes.append(nb::make_tuple(owned(std::vector<double>(c.v), {c.v.size()}), owned(std::vector<double>(c.w), {c.w.size()})));
        }
        return nb::make_tuple(held.mean, held.variance, owned(std::move(own), {held.classes.size(), 3}), classes);
    }

    // (edges, middle, scale, coefficients (P, terms, K)) of the pieces of column j.
    nb::tuple pieces(std::size_t j) const {
        need(j < columns.size(), "no such column");
        Pieces::Table found = columns[j]->pieces().table();
        const std::size_t P = found.middle.size();
        return nb::make_tuple(owned(std::move(found.edges), {P ? P + 1 : 0}), owned(std::move(found.middle), {P}),
                              owned(std::move(found.scale), {P}), owned(std::move(found.coefficients), {P, found.terms, K}));
    }
};

template <typename C> void bind_bins(nb::module_& m) {
    m.def(
        "bin_codes",
        [](InC<double, 1> x, InC<double, 1> cuts, OutC<C, 1> out) {
            need(out.shape(0) == x.shape(0), "a code a number is needed");
            need(cuts.shape(0) + 1 <= std::numeric_limits<C>::max(), "more cuts than the codes have values");
            nb::gil_scoped_release release;
            bin_codes(x.data(), x.shape(0), cuts.data(), cuts.shape(0), out.data());
        },
        nb::arg("x").noconvert(), nb::arg("cuts").noconvert(), nb::arg("out").noconvert());
}

}  // namespace

void bind_densities(nb::module_& m) {
    m.def("histograms", &bind_histograms, nb::arg("X").noconvert(), nb::arg("y").noconvert(),
          nb::arg("weights").noconvert().none(), nb::arg("n_classes"), nb::arg("limit"), nb::arg("threads"));
    m.def(
        "add_hashes",
        [](Any2 X, InC<std::uint64_t, 1> salts, OutC<std::uint64_t, 1> total, int threads) {
            need(salts.shape(0) == X.shape(1), "there is a salt for each column");
            need(total.shape(0) == X.shape(0), "total differs from X in length");
            const Matrix<double> matrix = doubles_of(X);
            nb::gil_scoped_release release;
            add_hashes(matrix, salts.data(), total.data(), threads);
        },
        nb::arg("X").noconvert(), nb::arg("salts").noconvert(), nb::arg("total").noconvert(), nb::arg("threads"));
    m.def(
        "mdl_cuts",
        [](InC<double, 2> table) {
            need(table.shape(1) > 0, "there is a class at least");
            std::vector<std::size_t> found;
            {
                nb::gil_scoped_release release;
                found = mdl_cuts(without_zeros(table.data(), table.shape(0), table.shape(1)), table.shape(1));
            }
            std::vector<std::int64_t> at(found.begin(), found.end());
            const std::size_t count = at.size();
            return owned(std::move(at), {count});
        },
        nb::arg("table").noconvert());
    m.def(
        "greedy_cuts",
        [](InC<double, 1> rising, std::size_t bins) {
            const std::size_t n = rising.shape(0);
            need(bins > 0 && bins < (std::size_t{1} << 32), "there is a bin at least");
            std::vector<std::size_t> found;
            {
                nb::gil_scoped_release release;
                found = greedy_cuts(rising.data(), n, bins);
            }
            std::vector<std::int64_t> at(found.begin(), found.end());
            const std::size_t count = at.size();
            return owned(std::move(at), {count});
        },
        nb::arg("rising").noconvert(), nb::arg("bins"));
    bind_bins<std::uint8_t>(m);
    bind_bins<std::uint16_t>(m);
    nb::class_<Columns>(m, "NumericColumns")
        .def(nb::init<InC<double, 1>, InC<double, 1>, InC<double, 2>, InC<std::int64_t, 1>, InC<std::uint8_t, 1>,
                      InC<double, 3>, double, double, double>(),
             nb::arg("values").noconvert(), nb::arg("centres").noconvert(), nb::arg("table").noconvert(),
             nb::arg("offsets").noconvert(), nb::arg("exact").noconvert(), nb::arg("moments").noconvert(),
             nb::arg("smoothing"), nb::arg("floor"), nb::arg("ddof"))
        .def("left_out", &bind_left_out, nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("out").noconvert(),
             nb::arg("turn").noconvert(), nb::arg("log_share").noconvert(), nb::arg("folded"), nb::arg("worst"),
             nb::arg("parts").noconvert(), nb::arg("threads"));
    m.def("search_densities", &bind_search, nb::arg("start").noconvert(), nb::arg("parts").noconvert(), nb::arg("y").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("errors").noconvert(), nb::arg("first"), nb::arg("second"), nb::arg("lead"),
          nb::arg("worst"), nb::arg("rounds"));
    nb::class_<Curves>(m, "Curves")
        .def(nb::init<const Columns&, InC<std::int32_t, 1>, InC<double, 1>, int>(), nb::arg("columns"),
             nb::arg("shapes").noconvert(), nb::arg("log_share").noconvert(), nb::arg("threads"))
        .def("score", &Curves::score, nb::arg("X").noconvert(), nb::arg("at").noconvert(), nb::arg("start").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads"))
        .def("parts", &Curves::parts, nb::arg("X").noconvert(), nb::arg("at").noconvert(), nb::arg("out").noconvert())
        .def("information", &Curves::information, nb::arg("prior").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"))
        .def("kernels", &Curves::kernels, nb::arg("column"))
        .def("pieces", &Curves::pieces, nb::arg("column"));
    m.def(
        "normal_information",
        [](InC<double, 2> mean, InC<double, 2> variance, InC<double, 1> prior, OutC<double, 1> out, int threads) {
            const std::size_t K = mean.shape(0), d = mean.shape(1);
            need(K > 0 && prior.shape(0) == K, "there is a prior for each class");
            need(variance.shape(0) == K && variance.shape(1) == d && out.shape(0) == d, "mean and variance are not (K, d)");
            for (std::size_t i = 0; i < K * d; ++i)
                need(variance.data()[i] > 0.0 && std::isfinite(variance.data()[i]) && std::isfinite(mean.data()[i]),
                     "a mean is not finite, or a variance not positive and finite");
            nb::gil_scoped_release release;
            normal_information(mean.data(), variance.data(), d, prior.data(), K, out.data(), threads);
        },
        nb::arg("mean").noconvert(), nb::arg("variance").noconvert(), nb::arg("prior").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"));
}
