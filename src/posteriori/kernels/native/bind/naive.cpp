// The kernels of naive.hpp for Python. Shapes are checked here; dtypes are never converted.
#include "naive/naive.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "large.hpp"
#include "numbers.hpp"
#include "threads.hpp"

using namespace posteriori;
namespace {

// The columns of a matrix (n, d), or a list of 1-D arrays; `held` keeps the latter alive.
Cells cells_of(nb::handle columns, const InC<std::int64_t, 1>& offsets, std::vector<nb::object>& held) {
    std::vector<Column> found;
    std::size_t n = 0;
    Any2 matrix;
    if (nb::isinstance<nb::list>(columns)) {
        for (nb::handle item : nb::borrow<nb::list>(columns)) {
            const Any1 a = nb::cast<Any1>(item, false);
            need(found.empty() || a.shape(0) == n, "columns differ in length");
            n = a.shape(0);
            found.push_back(column_of(a));
            held.push_back(nb::borrow(item));
        }
    } else {
        matrix = nb::cast<Any2>(columns, false);
        const int width = code_width(matrix.dtype());
        n = matrix.shape(0);
        const auto* data = static_cast<const unsigned char*>(matrix.data());
        const std::ptrdiff_t across = matrix.shape(1) == 1 ? width : matrix.stride(1) * width;
        for (std::size_t j = 0; j < matrix.shape(1); ++j)
            found.push_back({data + static_cast<std::ptrdiff_t>(j) * across, n == 1 ? width : matrix.stride(0) * width, width});
        if (n == 1 && across == width)
            for (auto& c : found) c.stride = across * static_cast<std::ptrdiff_t>(matrix.shape(1));
        held.push_back(nb::borrow(columns));
    }
    need(offsets.shape(0) == found.size() + 1, "offsets has one entry more than there are columns");
    for (std::size_t j = 0; j < found.size(); ++j) need(offsets(j) <= offsets(j + 1), "offsets fall");
    need(offsets(0) == 0, "offsets begin at 0");
    return Cells(std::move(found), offsets.data(), n);
}

void bind_gaussian(nb::module_& m) {
    m.def(
        "class_moments",
        [](Any2 X, Any1 y, Weights w, OutC<double, 2> n, OutC<double, 2> mean, OutC<double, 2> m2, OutC<double, 2> low,
           OutC<double, 2> high, int threads) {
            const std::size_t rows = X.shape(0), K = n.shape(0);
            need(y.shape(0) == rows, "X and y differ in length");
            for (auto* a : {&n, &mean, &m2, &low, &high}) need(a->shape(1) == X.shape(1) && a->shape(0) == K, "not (K, d)");
            const double* weights = weights_of(w, rows);
            const Column classes = column_of(y, 4);
            auto run = [&](const auto& matrix) {
                nb::gil_scoped_release release;
                const MomentsOut out{n.data(), mean.data(), m2.data(), low.data(), high.data()};
                return class_moments(matrix, classes, K, weights, out, threads);
            };
            return X.dtype() == nb::dtype<float>() ? run(floats_of(X)) : run(doubles_of(X));
        },
        nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("n").noconvert(),
        nb::arg("mean").noconvert(), nb::arg("m2").noconvert(), nb::arg("low").noconvert(), nb::arg("high").noconvert(),
        nb::arg("threads"));
    m.def(
        "share_moments",
        [](Any2 X, InC<double, 2> shares, OutC<double, 2> n, OutC<double, 2> mean, OutC<double, 2> m2, int threads) {
            const std::size_t K = n.shape(0);
            need(shares.shape(0) == X.shape(0) && shares.shape(1) == K, "shares are not (n, K)");
            for (auto* a : {&n, &mean, &m2}) need(a->shape(1) == X.shape(1) && a->shape(0) == K, "not (K, d)");
            auto run = [&](const auto& matrix) {
                nb::gil_scoped_release release;
                const MomentsOut out{n.data(), mean.data(), m2.data(), nullptr, nullptr};
                return share_moments(matrix, K, shares.data(), out, threads);
            };
            return X.dtype() == nb::dtype<float>() ? run(floats_of(X)) : run(doubles_of(X));
        },
        nb::arg("X").noconvert(), nb::arg("shares").noconvert(), nb::arg("n").noconvert(), nb::arg("mean").noconvert(),
        nb::arg("m2").noconvert(), nb::arg("threads"));
    m.def(
        "score_gaussian",
        [](Any2 X, InC<double, 2> mean, InC<double, 2> variance,
           nb::ndarray<const double, nb::c_contig, nb::device::cpu> start, OutC<double, 2> out, bool posterior, int threads) {
            const std::size_t K = mean.shape(0), d = X.shape(1);
            need(mean.shape(1) == d && variance.shape(0) == K && variance.shape(1) == d,
                    "mean and variance are not (K, d)");
            const Scores to = scores_of(start, out, X.shape(0), K, posterior);
            int seen = CLEAN;
            auto run = [&](const auto& matrix) {
                nb::gil_scoped_release release;
                return score_gaussian(matrix, mean.data(), variance.data(), K, to, threads, &seen);
            };
            const std::int64_t impossible = X.dtype() == nb::dtype<float>() ? run(floats_of(X)) : run(doubles_of(X));
            return std::make_pair(impossible, seen);
        },
        nb::arg("X").noconvert(), nb::arg("mean").noconvert(), nb::arg("variance").noconvert(), nb::arg("start").noconvert(),
        nb::arg("out").noconvert(), nb::arg("posterior"), nb::arg("threads"));
}

std::size_t kernel_nodes(const InC<double, 1>& centres, const InC<double, 1>& weights, double width) {
    need(centres.shape(0) > 0 && centres.shape(0) == weights.shape(0), "there is one weight for each centre, and one at least");
    need(width > 0.0, "the width is not positive");
    return (std::size_t{2} << kernel_levels(centres.shape(0))) - 1;
}

void bind_kernels(nb::module_& m) {
    m.def("kernel_tree_shape", [](std::size_t n) {
        return std::make_pair((std::size_t{2} << kernel_levels(n)) - 1, KERNEL_ROW);
    });
    m.def(
        "kernel_tree",
        [](InC<double, 1> centres, InC<double, 1> weights, double width, OutC<double, 2> tree, int threads) {
            const std::size_t nodes = kernel_nodes(centres, weights, width);
            need(tree.shape(0) == nodes && tree.shape(1) == KERNEL_ROW, "the tree has other nodes");
            nb::gil_scoped_release release;
            kernel_tree(centres.data(), weights.data(), centres.shape(0), width, tree.data(), threads);
        },
        nb::arg("centres").noconvert(), nb::arg("weights").noconvert(), nb::arg("width"), nb::arg("tree").noconvert(),
        nb::arg("threads"));
    m.def(
        "kernel_sums",
        [](InC<double, 1> x, InC<double, 1> centres, InC<double, 1> weights, double width, InC<double, 2> tree,
           OutC<double, 1> out, int threads) {
            const std::size_t nodes = kernel_nodes(centres, weights, width);
            need(tree.shape(0) == nodes && tree.shape(1) == KERNEL_ROW, "the tree has other nodes");
            need(out.shape(0) == x.shape(0), "out and x differ in length");
            nb::gil_scoped_release release;
            kernel_sums(x.data(), x.shape(0), centres.data(), weights.data(), centres.shape(0), width, tree.data(), out.data(),
                        threads);
        },
        nb::arg("x").noconvert(), nb::arg("centres").noconvert(), nb::arg("weights").noconvert(), nb::arg("width"),
        nb::arg("tree").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
}

void bind_sums(nb::module_& m) {
    m.def(
        "numbers",
        [](std::size_t rows, std::size_t K, bool zeros, int threads) {
            need(!K || rows <= (std::size_t{1} << 60) / K, "more numbers than there is memory");
            Numbers room = numbers(rows * K);
            double* p = room.get();
            constexpr std::size_t PIECE = std::size_t{1} << 18;  // a page
            if (zeros) {
                nb::gil_scoped_release release;
                parallel_for((rows * K + PIECE - 1) / PIECE, threads,
                             [&](std::size_t t) { std::fill(p + t * PIECE, p + std::min(rows * K, (t + 1) * PIECE), 0.0); });
            }
            nb::capsule owner(p, [](void* q) noexcept { std::free(q); });
            room.release();
            return nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>(p, {rows, K}, owner);
        },
        nb::arg("rows"), nb::arg("K"), nb::arg("zeros"), nb::arg("threads"));
    m.def(
        "column_sums",
        [](InC<double, 2> x, OutC<double, 1> high, OutC<double, 1> low, int threads) {
            need(high.shape(0) == x.shape(1) && low.shape(0) == x.shape(1), "there is one sum for each column");
            nb::gil_scoped_release release;
            column_sums(x.data(), x.shape(0), x.shape(1), high.data(), low.data(), threads);
        },
        nb::arg("x").noconvert(), nb::arg("high").noconvert(), nb::arg("low").noconvert(), nb::arg("threads"));
}

void bind_cells(nb::module_& m) {
    m.def(
        "count_cells",
        [](nb::handle columns, Any1 y, InC<std::int64_t, 1> offsets, OutC<std::int64_t, 2> table, int threads) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            need(y.shape(0) == cells.n, "columns and y differ in length");
            need(table.shape(0) == cells.total(), "the table does not have the cells of offsets");
            const Column classes = column_of(y, 4);
            nb::gil_scoped_release release;
            count_cells(cells, classes, table.shape(1), table.data(), threads);
        },
        nb::arg("columns"), nb::arg("y").noconvert(), nb::arg("offsets").noconvert(), nb::arg("table").noconvert(),
        nb::arg("threads"));
    m.def(
        "count_families",
        [](nb::handle columns, InC<std::int64_t, 1> offsets, InC<std::int64_t, 1> ends, InC<std::int32_t, 1> items,
           InC<std::int64_t, 1> starts, OutC<std::int64_t, 1> table, int threads) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            const auto families = lists_of(ends, items, cells.columns.size());
            std::vector<std::int64_t> sizes;
            for (std::size_t j = 0; j < cells.columns.size(); ++j) sizes.push_back(static_cast<std::int64_t>(cells.size(j)));
            need(starts.shape(0) == families.size() + 1 && starts(0) == 0, "starts has one entry more than there are families");
            need(starts(families.size()) == static_cast<std::int64_t>(table.shape(0)), "the table does not have the cells of starts");
            for (std::size_t f = 0; f < families.size(); ++f) {
                double wanted = 1;
                for (const int j : families[f]) wanted *= static_cast<double>(sizes[j]);
                need(wanted < 4294967296.0 && static_cast<double>(starts(f + 1) - starts(f)) == wanted,
                     "a family has not as many cells as its columns have combinations");
            }
            nb::gil_scoped_release release;
            count_families(cells.columns, sizes.data(), cells.n, families, starts.data(), table.data(), threads);
        },
        nb::arg("columns"), nb::arg("offsets").noconvert(), nb::arg("ends").noconvert(), nb::arg("items").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("table").noconvert(), nb::arg("threads"));
    m.def(
        "add_cells",
        [](nb::handle columns, Any1 y, InC<std::int64_t, 1> offsets, InC<double, 1> w, OutC<double, 2> table, int threads) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            need(y.shape(0) == cells.n && w.shape(0) == cells.n, "columns, y and weights differ in length");
            need(table.shape(0) == cells.total(), "the table does not have the cells of offsets");
            const Column classes = column_of(y, 4);
            nb::gil_scoped_release release;
            count_cells(cells, classes, table.shape(1), w.data(), table.data(), threads);
        },
        nb::arg("columns"), nb::arg("y").noconvert(), nb::arg("offsets").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("table").noconvert(), nb::arg("threads"));
    m.def(
        "share_cells",
        [](nb::handle columns, InC<std::int64_t, 1> offsets, InC<double, 2> shares, OutC<double, 2> table, int threads) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            need(shares.shape(0) == cells.n, "columns and shares differ in length");
            need(table.shape(0) == cells.total(), "the table does not have the cells of offsets");
            need(shares.shape(1) == table.shape(1), "shares and table differ in their classes");
            nb::gil_scoped_release release;
            share_cells(cells, table.shape(1), shares.data(), table.data(), threads);
        },
        nb::arg("columns"), nb::arg("offsets").noconvert(), nb::arg("shares").noconvert(), nb::arg("table").noconvert(),
        nb::arg("threads"));
    m.def(
        "score_cells",
        [](nb::handle columns, InC<double, 2> theta, InC<std::int64_t, 1> offsets,
           nb::ndarray<const double, nb::c_contig, nb::device::cpu> start, OutC<double, 2> out, bool posterior, int threads) {
            std::vector<nb::object> held;
            const Cells cells = cells_of(columns, offsets, held);
            need(theta.shape(0) == cells.total(), "the table does not have the cells of offsets");
            const Scores to = scores_of(start, out, cells.n, theta.shape(1), posterior);
            nb::gil_scoped_release release;
            return score_cells(cells, theta.data(), theta.shape(1), to, threads);
        },
        nb::arg("columns"), nb::arg("theta").noconvert(), nb::arg("offsets").noconvert(), nb::arg("start").noconvert(),
        nb::arg("out").noconvert(), nb::arg("posterior"), nb::arg("threads"));
    m.def(
        "normalise",
        [](InC<double, 2> log_joint, OutC<double, 2> posterior, std::optional<OutC<double, 1>> evidence, int threads) {
            const std::size_t n = log_joint.shape(0), K = log_joint.shape(1);
            need(posterior.shape(0) == n && posterior.shape(1) == K, "posterior is not (n, K)");
            need(!evidence || evidence->shape(0) == n, "evidence is not (n,)");
            double* logs = evidence ? evidence->data() : nullptr;
            nb::gil_scoped_release release;
            return normalise(log_joint.data(), n, K, posterior.data(), logs, threads);
        },
        nb::arg("log_joint").noconvert(), nb::arg("posterior").noconvert(), nb::arg("evidence").noconvert().none(),
        nb::arg("threads"));
    m.def(
        "share_out",
        [](OutC<double, 2> joint, InC<std::int32_t, 1> known, Weights w, bool hard, int threads) {
            const std::size_t n = joint.shape(0), K = joint.shape(1);
            need(known.shape(0) == n && K > 0, "every row is of a known class or hidden");
            const double* weights = weights_of(w, n);
            bool right = true;
            for (std::size_t r = 0; r < n; ++r) right &= known(r) >= -1 && known(r) < static_cast<std::int32_t>(K);
            need(right, "a class is none of the K");
            nb::gil_scoped_release release;
            return share_out(joint.data(), n, K, known.data(), weights, hard, threads);
        },
        nb::arg("joint").noconvert(), nb::arg("known").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("hard"),
        nb::arg("threads"));
}

}  // namespace

void bind_naive(nb::module_& m) {
    bind_cells(m);
    bind_gaussian(m);
    bind_kernels(m);
    bind_sums(m);
}
