// The kernels of naive.hpp for Python. Shapes are checked here; dtypes are never converted.
#include "naive/naive.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "large.hpp"
#include "numbers.hpp"
#include "threads.hpp"

using namespace posteriori;
namespace {

constexpr std::size_t SHORT = 1000;  // rows that one thread scores

// The columns of a matrix (n, d), or a sequence of 1-D arrays; `held` keeps the latter alive.
std::vector<Column> columns_of(nb::handle columns, std::vector<nb::object>& held, std::size_t& n) {
    std::vector<Column> found;
    Any2 matrix;
    n = 0;
    if (!PyList_Check(columns.ptr()) && !PyTuple_Check(columns.ptr())) {
        if (!nb::try_cast(columns, matrix, false)) throw nb::next_overload();
        const int width = code_width(matrix.dtype());
        n = matrix.shape(0);
        const auto* data = static_cast<const unsigned char*>(matrix.data());
        const std::ptrdiff_t across = matrix.shape(1) == 1 ? width : matrix.stride(1) * width;
        for (std::size_t j = 0; j < matrix.shape(1); ++j)
            found.push_back({data + static_cast<std::ptrdiff_t>(j) * across, n == 1 ? width : matrix.stride(0) * width, width});
        if (n == 1 && across == width)
            for (auto& c : found) c.stride = across * static_cast<std::ptrdiff_t>(matrix.shape(1));
        held.push_back(nb::borrow(columns));
    } else {
        for (nb::handle item : nb::borrow<nb::sequence>(columns)) {
            Any1 a;
            if (!nb::try_cast(item, a, false)) throw nb::type_error("columns are a matrix of codes, or arrays of one axis");
            need(found.empty() || a.shape(0) == n, "columns differ in length");
            n = a.shape(0);
            found.push_back(column_of(a));
            held.push_back(nb::borrow(item));
        }
    }
    return found;
}

Cells cells_of(nb::handle columns, const InC<std::int64_t, 1>& offsets, std::vector<nb::object>& held) {
    std::size_t n;
    std::vector<Column> found = columns_of(columns, held, n);
    need(offsets.shape(0) == found.size() + 1, "offsets has one entry more than there are columns");
    for (std::size_t j = 0; j < found.size(); ++j) need(offsets(j) <= offsets(j + 1), "offsets fall");
    need(offsets(0) == 0, "offsets begin at 0");
    return Cells(std::move(found), offsets.data(), n);
}

void bind_gaussian(nb::module_& m) {
    m.def(
        "class_moments",
        [](nb::handle numbers, Any1 y, std::size_t K, std::optional<AnyC> w, nb::handle n_jobs) {
            const Any2 X = readable(numbers);
            const std::size_t rows = X.shape(0), d = X.shape(1);
            refuse_large(d, K, 10);
            const Shares shares(w, rows, K);
            need(shares.shared || y.shape(0) == rows, "X and y differ in length");
            const Column classes = shares.shared ? Column{} : column_of(y, 4);
            const auto sums = zeros<double>({3, K, d}), range = empty<double>({2, K, d});
            std::fill_n(range.data, K * d, std::numeric_limits<double>::infinity());
            std::fill_n(range.data + K * d, K * d, -std::numeric_limits<double>::infinity());
            MomentsOut out{sums.data, sums.data + K * d, sums.data + 2 * K * d, range.data, range.data + K * d};
            if (shares.shared) out.low = out.high = nullptr;
            const int threads = team(n_jobs, rows * d * (shares.shared ? K : 1));
            auto run = [&](const auto& matrix) {
                nb::gil_scoped_release release;
                return shares.shared ? share_moments(matrix, K, shares.weights, out, threads)
                                     : class_moments(matrix, classes, K, shares.weights, out, threads);
            };
            const int seen = X.dtype() == nb::dtype<float>() ? run(floats_of(X)) : run(doubles_of(X));
            return nb::make_tuple(sums.array[0], sums.array[1], sums.array[2], range.array[0], range.array[1], seen);
        },
        nb::arg("X"), as_is("y"), nb::arg("n_classes"), maybe("weights"), jobs());
    m.def(
        "score_gaussian",
        [](nb::handle numbers, InC<double, 2> mean, InC<double, 2> variance, AnyC start, bool posterior, nb::handle n_jobs) {
            const Any2 X = readable(numbers);
            const std::size_t n = X.shape(0), K = mean.shape(0), d = X.shape(1);
            need(mean.shape(1) == d && variance.shape(0) == K && variance.shape(1) == d,
                    "mean and variance are not (K, d)");
            const auto out = empty<double>({n, K});
            const Scores to = scores_of(start, out.data, n, K, posterior);
            const int threads = n < SHORT ? 1 : team(n_jobs, n * K * d);
            int seen = CLEAN;
            auto run = [&](const auto& matrix) {
                nb::gil_scoped_release release;
                return score_gaussian(matrix, mean.data(), variance.data(), K, to, threads, &seen);
            };
            const std::int64_t impossible = X.dtype() == nb::dtype<float>() ? run(floats_of(X)) : run(doubles_of(X));
            return nb::make_tuple(out.array, impossible, seen);
        },
        nb::arg("X"), as_is("mean"), as_is("variance"), as_is("start"), nb::arg("posterior"), jobs());
}

std::size_t kernel_nodes(const InC<double, 1>& centres, const InC<double, 1>& weights, double width) {
    need(centres.shape(0) > 0 && centres.shape(0) == weights.shape(0), "there is one weight for each centre, and one at least");
    need(width > 0.0, "the width is not positive");
    return (std::size_t{2} << kernel_levels(centres.shape(0))) - 1;
}

void bind_kernels(nb::module_& m) {
    m.def(
        "kernel_tree",
        [](InC<double, 1> centres, InC<double, 1> weights, double width, nb::handle n_jobs) {
            const auto tree = empty<double>({kernel_nodes(centres, weights, width), KERNEL_ROW});
            const int threads = team(n_jobs, 50 * centres.shape(0));
            without_gil([&] { kernel_tree(centres.data(), weights.data(), centres.shape(0), width, tree.data, threads); });
            return tree.array;
        },
        as_is("centres"), as_is("weights"), nb::arg("width"), jobs());
    m.def(
        "log_kernel_sums",
        [](InC<double, 1> x, InC<double, 1> centres, InC<double, 1> weights, double width, InC<double, 2> tree, nb::handle n_jobs) {
            const std::size_t nodes = kernel_nodes(centres, weights, width);
            need(tree.shape(0) == nodes && tree.shape(1) == KERNEL_ROW, "the tree has other nodes");
            const auto out = empty<double>({x.shape(0)});
            const int threads = team(n_jobs, 1000 * x.shape(0));
            without_gil([&] {
                kernel_sums(x.data(), x.shape(0), centres.data(), weights.data(), centres.shape(0), width, tree.data(), out.data,
                            threads);
            });
            return out.array;
        },
        as_is("x"), as_is("centres"), as_is("weights"), nb::arg("width"), as_is("tree"), jobs());
}

// The two scorers of coded rows: posterior_cells says which row no class allows, and does not share few rows out.
nb::object scored_cells(nb::handle columns, InC<double, 2> theta, InC<std::int64_t, 1> offsets, AnyC start, nb::handle n_jobs,
                        bool posterior) {
    std::vector<nb::object> held;
    const Cells cells = cells_of(columns, offsets, held);
    need(theta.shape(0) == cells.total(), "the table does not have the cells of offsets");
    const std::size_t n = cells.n, K = theta.shape(1);
    const auto out = empty<double>({n, K});
    const Scores to = scores_of(start, out.data, n, K, posterior);
    const int threads = posterior && n < SHORT ? 1 : team(n_jobs, n * cells.columns.size());
    const std::int64_t impossible = without_gil([&] { return score_cells(cells, theta.data(), K, to, threads); });
    return posterior ? nb::make_tuple(out.array, impossible) : out.array;
}

void bind_cells(nb::module_& m) {
    m.def(
        "count_cells",
        [](nb::handle columns, Any1 y, InC<std::int64_t, 1> offsets, std::size_t K, std::optional<AnyC> w, nb::handle n_jobs) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            const Shares shares(w, cells.n, K);
            need(shares.shared || y.shape(0) == cells.n, "columns and y differ in length");
            const Column classes = shares.shared ? Column{} : column_of(y, 4);
            const int threads = team(n_jobs, cells.n * cells.columns.size() * (shares.shared ? 1 + K / 2 : 1));
            if (!w) {
                const auto table = zeros<std::int64_t>({cells.total(), K});
                without_gil([&] { count_cells(cells, classes, K, table.data, threads); });
                return table.array;
            }
            const auto table = zeros<double>({cells.total(), K});
            without_gil([&] {
                if (shares.shared) share_cells(cells, K, shares.weights, table.data, threads);
                else count_cells(cells, classes, K, shares.weights, table.data, threads);
            });
            return table.array;
        },
        nb::arg("columns"), as_is("y"), as_is("offsets"), nb::arg("n_classes"), maybe("weights"), jobs());
    m.def(
        "count_families",
        [](nb::handle columns, const std::vector<std::int64_t>& sizes, const std::vector<std::vector<int>>& families, nb::handle n_jobs) {
            std::vector<nb::object> held;
            std::size_t n, items = 0;
            const std::vector<Column> codes = columns_of(columns, held, n);
            need(sizes.size() == codes.size(), "one size a column is needed");
            for (const auto size : sizes) need(size >= 0, "a column has no such number of values");
            std::vector<std::int64_t> starts{0};
            for (const auto& family : families) {
                double cells = 1;
                for (const int j : family) {
                    need(j >= 0 && static_cast<std::size_t>(j) < codes.size(), "a family names no column");
                    cells *= static_cast<double>(sizes[static_cast<std::size_t>(j)]);
                }
                need(cells < 4294967296.0, "a family has 2³² cells or more");
                starts.push_back(starts.back() + static_cast<std::int64_t>(cells)), items += family.size();
            }
            const auto table = zeros<std::int64_t>({static_cast<std::size_t>(starts.back())});
            const int threads = team(n_jobs, n * items);
            without_gil([&] { count_families(codes, sizes.data(), n, families, starts.data(), table.data, threads); });
            nb::list found;
            for (std::size_t f = 0; f < families.size(); ++f) found.append(table.array[nb::slice(starts[f], starts[f + 1])]);
            return found;
        },
        nb::arg("columns"), nb::arg("sizes"), nb::arg("families"), jobs());
    m.def(
        "log_joint_cells",
        [](nb::handle columns, InC<double, 2> theta, InC<std::int64_t, 1> offsets, AnyC start, nb::handle n_jobs) {
            return scored_cells(columns, theta, offsets, start, n_jobs, false);
        },
        nb::arg("columns"), as_is("log_theta"), as_is("offsets"), as_is("start"), jobs());
    m.def(
        "posterior_cells",
        [](nb::handle columns, InC<double, 2> theta, InC<std::int64_t, 1> offsets, AnyC start, nb::handle n_jobs) {
            return scored_cells(columns, theta, offsets, start, n_jobs, true);
        },
        nb::arg("columns"), as_is("log_theta"), as_is("offsets"), as_is("start"), jobs());
    m.def(
        "normalise",
        [](InC<double, 2> log_joint, nb::handle n_jobs, nb::handle into) {
            const std::size_t n = log_joint.shape(0), K = log_joint.shape(1);
            New<double> posterior, evidence = empty<double>({n});
            if (into.is_none()) {
                posterior = empty<double>({n, K});
            } else {
                const auto out = in_place<OutC<double, 2>>(into);
                need(out.shape(0) == n && out.shape(1) == K, "out is not (n, K)");
                posterior = {nb::borrow(into), out.data()};
            }
            const int threads = team(n_jobs, 4 * n * K);
            without_gil([&] { normalise(log_joint.data(), n, K, posterior.data, evidence.data, threads); });
            return nb::make_tuple(posterior.array, evidence.array);
        },
        as_is("log_joint"), jobs(), nb::arg("out") = nb::none());
    m.def(
        "posterior",
        [](nb::handle log_joint, nb::handle n_jobs) {
            const auto joint = in_place<OutC<double, 2>>(log_joint);
            const std::size_t n = joint.shape(0), K = joint.shape(1);
            const int threads = team(n_jobs, 4 * n * K);
            return nb::make_tuple(log_joint, without_gil([&] { return normalise(joint.data(), n, K, joint.data(), nullptr, threads); }));
        },
        nb::arg("log_joint"), jobs());
    m.def(
        "share_out",
        [](nb::handle log_joint, InC<std::int32_t, 1> known, Weights w, bool hard, nb::handle n_jobs) {
            const auto joint = in_place<OutC<double, 2>>(log_joint);
            const std::size_t n = joint.shape(0), K = joint.shape(1);
            need(known.shape(0) == n && K > 0, "every row is of a known class or hidden");
            const double* weights = weights_of(w, n);
            bool right = true;
            for (std::size_t r = 0; r < n; ++r) right &= known(r) >= -1 && known(r) < static_cast<std::int32_t>(K);
            need(right, "a class is none of the K");
            const int threads = team(n_jobs, 4 * n * K);
            return nb::make_tuple(log_joint, without_gil([&] { return share_out(joint.data(), n, K, known.data(), weights, hard, threads); }));
        },
        nb::arg("log_joint"), as_is("known"), maybe("weights"), nb::arg("hard") = false, jobs());
}

}  // namespace

New<double> large_table(std::size_t rows, std::size_t K, bool zeros) {
    need(!K || rows <= (std::size_t{1} << 60) / K, "more numbers than there is memory");
    const std::size_t size = rows * K;
    if (size < std::size_t{1} << 16) return empty<double>({rows, K}, zeros);
    Numbers room = numbers(size);
    double* p = room.get();
    constexpr std::size_t PIECE = std::size_t{1} << 18;  // a page
    if (zeros) {
        const int threads = team(nb::none(), size);
        nb::gil_scoped_release release;
        parallel_for((size + PIECE - 1) / PIECE, threads,
                     [&](std::size_t t) { std::fill(p + t * PIECE, p + std::min(size, (t + 1) * PIECE), 0.0); });
    }
    nb::capsule owner(p, [](void* q) noexcept { std::free(q); });
    room.release();
    return {nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>(p, {rows, K}, owner)), p};
}

void refuse_large(std::size_t columns, std::size_t K, int tables, const std::string& what) {
    const double cells = static_cast<double>(columns) * static_cast<double>(K);
    if (cells > 1 << 20)
        refuse_over(nb::none(), 8.0 * cells * tables, "counting " + std::to_string(columns) + " " + what + " for " + std::to_string(K) + " classes",
                    ("give fewer " + what + " or classes").c_str());
}

void bind_naive(nb::module_& m) {
    m.attr("NAN") = static_cast<int>(SAW_NAN), m.attr("INF") = static_cast<int>(SAW_INF);
    m.def("refuse_large", &refuse_large, nb::arg("columns"), nb::arg("n_classes"), nb::arg("tables"), nb::arg("what") = "columns");
    bind_cells(m);
    bind_gaussian(m);
    bind_kernels(m);
}
