// The kernels of densities.hpp for Python. Shapes are checked here; dtypes are never converted.
#include "naive/densities.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "threads.hpp"

namespace {

constexpr const char* SHAPES[] = {"none", "binned", "kernel", "mixed"};

// The cell of each x_rj, [column][row]; one beyond them all where it is no number, or the row has no weight.
std::vector<std::vector<std::uint32_t>> cells_met(const Matrix<double>& X, const std::vector<Binning>& found, const double* whole) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    std::vector<std::vector<std::uint32_t>> cells(X.d, std::vector<std::uint32_t>(X.n));
    std::vector<double> block;
    std::ptrdiff_t step;
    for (std::size_t begin = 0; begin < X.n; begin += 512) {
        const std::size_t count = std::min<std::size_t>(512, X.n - begin);
        const double* x = X.rows(begin, count, block, &step);
        for (std::size_t j = 0; j < X.d; ++j) {
            const auto& keys = found[j].keys;
            for (std::size_t r = 0; r < count; ++r) {
                const double number = x[static_cast<std::ptrdiff_t>(r) * step + static_cast<std::ptrdiff_t>(j)] + 0.0;
                std::uint64_t bits;
                std::memcpy(&bits, &number, sizeof bits);
                const std::uint64_t key = (bits & sign ? ~bits : bits | sign) & ~((std::uint64_t{1} << found[j].level) - 1);
                const bool takes_part = std::isfinite(number) && whole[begin + r] > 0.0;
                cells[j][begin + r] = static_cast<std::uint32_t>(takes_part ? std::lower_bound(keys.begin(), keys.end(), key) - keys.begin() : static_cast<std::ptrdiff_t>(keys.size()));
            }
        }
    }
    return cells;
}

nb::list bind_histograms(nb::handle numbers, nb::handle labels, std::size_t K, std::size_t limit, const std::optional<AnyC>& w, nb::handle n_jobs) {
    const Any2 X = readable(numbers);
    const Any1 y = class_codes(labels);
    const std::size_t n = X.shape(0);
    need(K > 0 && limit > 0, "there is a class and a cell at least");
    const Shares shares(w, n, K);
    need(shares.shared || y.shape(0) == n, "X and y differ in length");
    const Matrix<double> matrix = doubles_of(X);
    const Column classes = shares.shared ? Column{} : column_of(y, 4);
    const int threads = team(n_jobs, 10 * n * X.shape(1));
    std::vector<Binning> found = without_gil([&] {
        if (!shares.shared) return histograms(matrix, classes, K, shares.weights, limit, threads);
        // the cells are those of all rows; then each row's shares are added to its cell
        const unsigned char no_class = 0;
        std::vector<double> whole(n, 0.0);
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t c = 0; c < K; ++c) whole[r] += shares.weights[r * K + c];
        auto cells = histograms(matrix, {&no_class, 0, 1}, 1, whole.data(), limit, threads);
        const auto met = cells_met(matrix, cells, whole.data());
        for (std::size_t j = 0; j < cells.size(); ++j) {
            const std::int64_t offsets[] = {0, static_cast<std::int64_t>(cells[j].keys.size()) + 1};
            cells[j].table.assign(static_cast<std::size_t>(offsets[1]) * K, 0.0);
            const Column codes{reinterpret_cast<const unsigned char*>(met[j].data()), 4, 4};
            share_cells(Cells({codes}, offsets, n), K, shares.weights, cells[j].table.data(), threads);
            cells[j].table.resize(cells[j].keys.size() * K);
        }
        return cells;
    });
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

nb::object bind_left_out(const Columns& columns, InC<double, 2> x, InC<std::uint32_t, 1> y, InC<double, 1> out, InC<double, 1> turn,
                         InC<double, 2> log_share, double folded, double worst, nb::handle n_jobs) {
    const std::size_t d = columns.d(), R = y.shape(0), K = columns.K();
    need(x.shape(0) == d && x.shape(1) == R, "x is not (d, R)");
    need(out.shape(0) == R && turn.shape(0) == R, "rows differ in number");
    need(log_share.shape(0) == R && log_share.shape(1) == K, "log_share is not (R, K)");
    for (std::size_t i = 0; i < R; ++i) need(y(i) < K && turn(i) >= 0.0 && turn(i) < 1.0, "a row has another class, or turn");
    const auto parts = empty<double>({d, 5, R, K});
    const int threads = team(n_jobs, 200 * 5 * d * R * K);
    std::vector<double> per_share(R * K);
    std::vector<char> sound(d, 1);
    for (std::size_t i = 0; i < R * K; ++i) per_share[i] = std::exp(-log_share.data()[i]);
    without_gil([&] {
        const Sampled rows{y.data(), out.data(), turn.data(), log_share.data(), per_share.data(), R, K, worst, std::exp(-worst)};
        parallel_for(d, threads, [&](std::size_t j) {
            sound[j] = left_out(columns.column(j), columns.of(j), x.data() + j * R, rows, columns.how(), folded,
                                parts.data + j * 5 * R * K);
        });
    });
    for (std::size_t j = 0; j < d; ++j) need(sound[j], "a row is not in its histogram");
    return parts.array;
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
    Curves(const Columns& given, const std::vector<std::string>& shapes, InC<double, 1> log_share, std::size_t work, nb::handle n_jobs)
        : K(given.K()) {
        need(shapes.size() == given.d() && log_share.shape(0) == K, "there is a shape for each column, a share for each class");
        std::vector<Shape> kinds;
        for (const auto& shape : shapes) {
            const auto* at = std::find(std::begin(SHAPES), std::end(SHAPES), shape);
            need(at != std::end(SHAPES), "no such shape");
            kinds.push_back(Shape(at - std::begin(SHAPES)));
        }
        const int threads = team(n_jobs, work);
        columns.resize(given.d());
        nb::gil_scoped_release release;
        parallel_for(given.d(), threads, [&](std::size_t j) {
            columns[j] = std::make_unique<Curve>(kinds[j], given.column(j), given.of(j), log_share.data(), given.how());
        });
    }

    void check(const Any2& X, const InC<std::int64_t, 1>& at) const {
        need(at.shape(0) == columns.size(), "there is a column of X for each curve");
        for (std::size_t j = 0; j < columns.size(); ++j)
            need(at(j) >= 0 && static_cast<std::size_t>(at(j)) < X.shape(1), "X has no such column");
    }

    // start + Σ_j ln p(x_j|y); whether NaN (bit 1) or inf (bit 2) was among the cells.
    nb::tuple score(nb::handle numbers, InC<std::int64_t, 1> at, AnyC start, nb::handle n_jobs) const {
        const Any2 X = readable(numbers);
        const std::size_t n = X.shape(0);
        check(X, at);
        const auto out = empty<double>({n, K});
        const Scores from = scores_of(start, out.data, n, K, false);
        const Matrix<double> matrix = doubles_of(X);
        const std::size_t block = 512, blocks = (n + block - 1) / block;
        const int threads = team(n_jobs, 6 * n * columns.size());
        std::vector<int> seen(blocks, CLEAN);
        without_gil([&] {
            parallel_for(blocks, threads, [&](std::size_t b) {
                const std::size_t begin = b * block, count = std::min(block, n - begin);
                std::vector<double> turned;
                std::ptrdiff_t step;
                const double* x = matrix.rows(begin, count, turned, &step);
                const std::size_t wide = rounded_up(K);
                std::vector<double> sums(count * wide);
                for (std::size_t r = 0; r < count; ++r)
                    std::copy_n(from.start + (begin + r) * from.start_stride, K, sums.data() + r * wide);
                for (std::size_t j = 0; j < columns.size(); ++j)
                    columns[j]->add(x + at(j), step, count, sums.data(), &seen[b]);
                for (std::size_t r = 0; r < count; ++r) std::copy_n(sums.data() + r * wide, K, out.data + (begin + r) * K);
            });
        });
        int all = CLEAN;
        for (const int s : seen) all |= s;
        return nb::make_tuple(out.array, all);
    }

    // ln p(x_rj|y), [row, column, class], 0 where x is missing.
    nb::object parts(nb::handle numbers, InC<std::int64_t, 1> at) const {
        const Any2 X = readable(numbers);
        const std::size_t n = X.shape(0), d = columns.size();
        check(X, at);
        const auto out = empty<double>({n, d, K});
        const Matrix<double> matrix = doubles_of(X);
        const std::size_t wide = rounded_up(K);
        std::vector<double> turned;
        std::ptrdiff_t step;
        int seen = CLEAN;
        const double* x = matrix.rows(0, n, turned, &step);
        for (std::size_t j = 0; j < d; ++j) {
            std::vector<double> found(n * wide);
            columns[j]->add(x + at(j), step, n, found.data(), &seen);
            for (std::size_t r = 0; r < n; ++r) std::copy_n(found.data() + r * wide, K, out.data + (r * d + j) * K);
        }
        return out.array;
    }

    nb::object information(InC<double, 1> prior, nb::handle n_jobs) const {
        need(prior.shape(0) == K, "there is a prior for each class");
        const auto out = empty<double>({columns.size()});
        const int threads = team(n_jobs, 100'000 * columns.size());
        without_gil([&] { parallel_for(columns.size(), threads, [&](std::size_t j) { out.data[j] = columns[j]->information(prior.data()); }); });
        return out.array;
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

template <typename C> nb::object codes_of_bins(const InC<double, 1>& x, const InC<double, 1>& cuts) {
    const auto out = empty<C>({x.shape(0)});
    without_gil([&] { bin_codes(x.data(), x.shape(0), cuts.data(), cuts.shape(0), out.data); });
    return out.array;
}

nb::object places(const std::vector<std::size_t>& found) {
    const auto out = empty<std::int64_t>({found.size()});
    std::copy(found.begin(), found.end(), out.data);
    return out.array;
}

}  // namespace

void bind_densities(nb::module_& m) {
    m.def("histograms", &bind_histograms, nb::arg("X"), nb::arg("y"), nb::arg("n_classes"), nb::arg("limit"), maybe("weights"), jobs());
    m.def(
        "add_hashes",
        [](nb::handle numbers, InC<std::uint64_t, 1> salts, OutC<std::uint64_t, 1> total, nb::handle n_jobs) {
            const Any2 X = readable(numbers);
            need(salts.shape(0) == X.shape(1), "there is a salt for each column");
            need(total.shape(0) == X.shape(0), "total differs from X in length");
            const Matrix<double> matrix = doubles_of(X);
            const int threads = team(n_jobs, 2 * X.shape(0) * X.shape(1));
            without_gil([&] { add_hashes(matrix, salts.data(), total.data(), threads); });
        },
        nb::arg("X"), as_is("salts"), as_is("total"), jobs());
    m.def(
        "mdl_cuts",
        [](InC<double, 2> table) {
            need(table.shape(1) > 0, "there is a class at least");
            return places(without_gil([&] { return mdl_cuts(without_zeros(table.data(), table.shape(0), table.shape(1)), table.shape(1)); }));
        },
        nb::arg("table"));
    m.def(
        "greedy_cuts",
        [](InC<double, 1> rising, std::size_t bins) {
            need(bins > 0 && bins < (std::size_t{1} << 32), "there is a bin at least");
            return places(without_gil([&] { return greedy_cuts(rising.data(), rising.shape(0), bins); }));
        },
        as_is("rising"), nb::arg("bins"));
    m.def(
        "bin_codes",
        [](InC<double, 1> x, InC<double, 1> cuts) {
            need(cuts.shape(0) < 65535, "more cuts than the codes have values");
            return cuts.shape(0) < 255 ? codes_of_bins<std::uint8_t>(x, cuts) : codes_of_bins<std::uint16_t>(x, cuts);
        },
        nb::arg("x"), nb::arg("cuts"));
    nb::class_<Columns>(m, "NumericColumns")
        .def(nb::init<InC<double, 1>, InC<double, 1>, InC<double, 2>, InC<std::int64_t, 1>, InC<std::uint8_t, 1>,
                      InC<double, 3>, double, double, double>(),
             as_is("values"), as_is("centres"), as_is("table"), as_is("offsets"), as_is("exact"), as_is("moments"),
             nb::arg("smoothing"), nb::arg("floor"), nb::arg("ddof"))
        .def("left_out", &bind_left_out, as_is("x"), nb::arg("y"), as_is("out"), as_is("turn"), as_is("log_share"),
             nb::arg("folded"), nb::arg("worst"), jobs());
    m.def("search_densities", &bind_search, as_is("start"), as_is("parts"), nb::arg("y"), as_is("weights"), as_is("errors"),
          nb::arg("first"), nb::arg("second"), nb::arg("lead"), nb::arg("worst"), nb::arg("rounds"));
    nb::class_<Curves>(m, "Curves")
        .def(nb::init<const Columns&, const std::vector<std::string>&, InC<double, 1>, std::size_t, nb::handle>(), nb::arg("columns"),
             nb::arg("shapes"), as_is("log_share"), nb::arg("work"), jobs())
        .def("score", &Curves::score, nb::arg("X"), as_is("at"), as_is("start"), jobs())
        .def("parts", &Curves::parts, nb::arg("X"), as_is("at"))
        .def("information", &Curves::information, nb::arg("prior"), jobs())
        .def("kernels", &Curves::kernels, nb::arg("column"))
        .def("pieces", &Curves::pieces, nb::arg("column"));
    m.attr("SHAPES") = nb::make_tuple(SHAPES[0], SHAPES[1], SHAPES[2], SHAPES[3]);
    m.def(
        "normal_information",
        [](InC<double, 2> mean, InC<double, 2> variance, InC<double, 1> prior, nb::handle n_jobs) {
            const std::size_t K = mean.shape(0), d = mean.shape(1);
            need(K > 0 && prior.shape(0) == K, "there is a prior for each class");
            need(variance.shape(0) == K && variance.shape(1) == d, "mean and variance are not (K, d)");
            for (std::size_t i = 0; i < K * d; ++i)
                need(variance.data()[i] > 0.0 && std::isfinite(variance.data()[i]) && std::isfinite(mean.data()[i]),
                     "a mean is not finite, or a variance not positive and finite");
            const auto out = empty<double>({d});
            const int threads = team(n_jobs, 20'000 * d);
            without_gil([&] { normal_information(mean.data(), variance.data(), d, prior.data(), K, out.data, threads); });
            return out.array;
        },
        nb::arg("mean"), nb::arg("variance"), nb::arg("prior"), jobs());
}
