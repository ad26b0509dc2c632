#include "combine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops.hpp"

namespace posteriori {

std::pair<double, bool> combine(const std::vector<int>& sizes, const Lists& scopes, const std::vector<const double*>& tables,
                                const std::uint8_t* logs, const std::uint8_t* keep, bool maximise, double* out) {
    const int dims = static_cast<int>(sizes.size());
    Index cells = 1, kept = 1;
    for (int k = 0; k < dims; ++k) {
        cells *= sizes[k];
        if (keep[k]) kept *= sizes[k];
    }
    double least = 0;  // the log of a lower bound of the positive cells of the product
    std::vector<Index> lengths;
    for (std::size_t f = 0; f < scopes.size(); ++f) {
        Index n = 1;
        for (int axis : scopes[f]) n *= sizes[axis];
        double smallest = 1;
        for (Index i = 0; i < n && !logs[f]; ++i)
            if (tables[f][i] > 0) smallest = std::min(smallest, tables[f][i]);
        least += logs[f] ? kLeastLog - 1 : std::log(smallest);
        lengths.push_back(n);
    }
    const bool in_logs = least < kLeastLog;
    std::vector<double> product(cells, in_logs ? 0.0 : 1.0), terms;
    std::vector<Index> stride(dims);
    for (std::size_t f = 0; f < scopes.size(); ++f) {
        std::fill(stride.begin(), stride.end(), 0);
        Index step = 1;
        for (auto axis = scopes[f].rbegin(); axis != scopes[f].rend(); ++axis) stride[*axis] = step, step *= sizes[*axis];
        Nest nest;
        for (int k = dims - 1; k >= 0; --k) nest.add(sizes[k], stride[k]);
        if (!in_logs) {
            sweep<Multiply>(nest, product.data(), tables[f]);
            continue;
        }
        terms.assign(tables[f], tables[f] + lengths[f]);
        for (double& x : terms) x = logs[f] ? x : std::log(x);
        sweep<Plus>(nest, product.data(), terms.data());
    }
    Nest nest;
    Index step = 1;
    for (int k = dims - 1; k >= 0; --k) {
        nest.add(sizes[k], keep[k] ? step : 0);
        if (keep[k]) step *= sizes[k];
    }
    const double* from = product.data();
    if (in_logs) {
        std::vector<LogSum> sums(kept);
        sweep<Largest>(nest, from, sums.data());
        if (!maximise) sweep<Relative>(nest, from, sums.data());
        std::transform(sums.begin(), sums.end(), out, [](const LogSum& sum) { return sum.value(); });
        bool wide = false;
        const double top = settle(out, kept, wide);
        return {top, wide};
    }
    std::fill(out, out + kept, 0.0);
    if (maximise)
        sweep<Max>(nest, from, out);
    else
        sweep<Add>(nest, from, out);
    const double top = *std::max_element(out, out + kept);
    if (top > 0)
        for (Index i = 0; i < kept; ++i) out[i] /= top;
    return {top > 0 ? std::log(top) : -std::numeric_limits<double>::infinity(), false};
}

}  // namespace posteriori
