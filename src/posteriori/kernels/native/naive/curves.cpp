// ln p(x|y) of a numeric column in pieces, and the sum of many columns.
//
// On a piece [a, b], t = (x − middle)/half: ln p(x|y) = Σ_k c_k t^k, through eight Chebyshev points. A piece that is not good
// to GOOD between them is halved; pieces never lie across a cut of the bins. Outside the pieces, and where halving did not
// help, the density is computed as it is.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "densities.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr std::size_t TERMS = 8, MOST = 4096, BLOCK = 256, BATCH = Pieces::BATCH;
constexpr int DEEPEST = 48;
constexpr double GOOD = 5e-7, BETTER = 1.5e-7, NEVER = -std::numeric_limits<double>::infinity();
constexpr std::array<double, BATCH - TERMS> BETWEEN = {-1.0, -0.71, -0.2, 0.0, 0.38, 0.65, 0.92, 1.0};  // where a piece is tried

// The points of a piece, and the matrix from the values there to the coefficients.
struct Points {
    std::array<double, TERMS> t;
    std::array<std::array<double, TERMS>, TERMS> to;  // from the value at point i (first) to coefficient k
    Points() {
        for (std::size_t i = 0; i < TERMS; ++i) t[i] = std::cos(std::acos(-1.0) * (static_cast<double>(i) + 0.5) / TERMS);
        for (std::size_t i = 0; i < TERMS; ++i) {  // Lagrange's polynomial of point i, multiplied out
            std::array<double, TERMS> product{};
            product[0] = 1.0;
            std::size_t degree = 0;
            for (std::size_t j = 0; j < TERMS; ++j) {
                if (j == i) continue;
                const double scale = 1.0 / (t[i] - t[j]);
                for (std::size_t k = ++degree; k > 0; --k) product[k] = (product[k - 1] - t[j] * product[k]) * scale;
                product[0] *= -t[j] * scale;
            }
            to[i] = product;
        }
    }
};

const Points& points() {
    static const Points made;
    return made;
}

}  // namespace

std::vector<double> even_ends(double from, double to, double width, std::size_t most) {
    const double wanted = (to - from) / width + 1.0;
    const auto parts = wanted < static_cast<double>(most) ? static_cast<std::size_t>(wanted) : most;
    std::vector<double> ends;
    for (std::size_t i = 0; i <= parts; ++i)
        ends.push_back(from + (to - from) * (static_cast<double>(i) / static_cast<double>(parts)));
    return ends;
}

Pieces::Pieces(const Values& values, std::size_t K, std::vector<double> ends, double good)
    : K_(K), padded_(rounded_up(K)), terms_(good > 0.0 ? TERMS : 1), good_(good) {
    ends.erase(std::remove_if(ends.begin(), ends.end(), [](double end) { return !std::isfinite(end); }), ends.end());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.size() < 2 || !std::isfinite(ends.back() - ends.front())) return;
    std::vector<double> one(TERMS * padded_), at((K_ + 1) * BATCH);
    struct Open { double a, b; int depth; };
    std::vector<Open> open;
    for (std::size_t i = ends.size() - 1; i-- > 0;) open.push_back({ends[i], ends[i + 1], 0});
    edges_.push_back(ends[0]);
    while (!open.empty()) {
        const auto [a, b, depth] = open.back();
        open.pop_back();
        const double middle = a + (b - a) / 2;
        bool fits = terms_ == 1;
        if (terms_ == 1) {
            std::fill(at.begin(), at.begin() + BATCH, a);
            values(at.data(), at.data() + BATCH);
            for (std::size_t y = 0; y < K_; ++y) one[y] = at[(y + 1) * BATCH];
        } else if (edges_.size() + open.size() < MOST) {
            fits = fitted(values, a, b, at.data(), one.data());
            if (!fits && depth < DEEPEST && a < middle && middle < b) {
                open.push_back({middle, b, depth + 1});
                open.push_back({a, middle, depth + 1});
                continue;
            }
        }
        edges_.push_back(b);
        middle_.push_back(middle);
        scale_.push_back(fits ? 2.0 / (b - a) : std::nan(""));  // no number: no polynomial
        coefficients_.insert(coefficients_.end(), one.begin(), one.begin() + static_cast<std::ptrdiff_t>(terms_ * padded_));
    }
    std::size_t buckets = 16;
    while (buckets < 4 * size()) buckets *= 2;
    low_ = edges_.front(), per_bucket_ = static_cast<double>(buckets) / (edges_.back() - low_);
    if (!std::isfinite(per_bucket_)) per_bucket_ = 0.0;
    bucket_.resize(buckets + 1);
    for (std::size_t i = 0, p = 0; i <= buckets && per_bucket_ > 0.0; ++i) {  // the piece in which a bucket begins
        const double begin = low_ + static_cast<double>(i) / per_bucket_;
        while (p + 1 < size() && edges_[p + 1] <= begin) ++p;
        bucket_[i] = static_cast<std::uint32_t>(p);
    }
}

// The polynomials of one piece, or false where they are not good enough; `x` has room for the points and what is said of them.
bool Pieces::fitted(const Values& values, double a, double b, double* x, double* c) const {
    const Points& p = points();
    const double middle = a + (b - a) / 2, half = (b - a) / 2, last = std::nextafter(b, a);  // at b the next piece begins
    for (std::size_t i = 0; i < BATCH; ++i)
        x[i] = std::clamp(middle + (i < TERMS ? p.t[i] : BETWEEN[i - TERMS]) * half, a, last);
    values(x, x + BATCH);
    std::fill_n(c, TERMS * padded_, 0.0);
    for (std::size_t y = 0; y < K_; ++y) {
        const double* at = x + (y + 1) * BATCH;
        if (at[0] == NEVER) {  // impossible here, as a bin is
            for (std::size_t i = 0; i < BATCH; ++i)
                if (at[i] != NEVER) return false;
            c[y] = NEVER;
            continue;
        }
        Doubles low{}, high{};
        for (std::size_t i = 0; i < TERMS; ++i) low += load4(&p.to[i][0]) * at[i], high += load4(&p.to[i][4]) * at[i];
        for (std::size_t k = 0; k < 4; ++k) c[k * padded_ + y] = low[k], c[(k + 4) * padded_ + y] = high[k];
        for (std::size_t i = 0; i < BATCH - TERMS; i += 4) {
            const Doubles t = load4(&BETWEEN[i]);
            Doubles sum{};
            for (std::size_t k = TERMS; k-- > 1;) sum = (sum + (k < 4 ? low[k] : high[k - 4])) * t;
            sum = sum + low[0] - load4(at + TERMS + i);
            for (std::size_t j = 0; j < 4; ++j)
                if (!(std::fabs(sum[j]) < good_)) return false;
        }
    }
    return true;
}

bool Pieces::together(const double* x, double* out) const {
    const std::uint32_t p = find(x[0]);
    if (p == nowhere || scale_[p] != scale_[p]) return false;
    const double* c = coefficients_.data() + p * terms_ * padded_;
    Doubles low = load4(x), high = low;
    for (std::size_t i = 0; i < BATCH; i += 4) {
        const Doubles four = load4(x + i), t = (four - middle_[p]) * scale_[p];
        low = four < low ? four : low, high = four > high ? four : high;
        Doubles sum{};
        for (std::size_t k = TERMS; k-- > 1;) sum = (sum + c[k * padded_]) * t;
        store4(out + i, sum + c[0]);
    }
    bool inside = true;
    for (std::size_t j = 0; j < 4; ++j) inside = inside && low[j] >= edges_[p] && high[j] < edges_[p + 1];
    return inside;
}

std::uint32_t Pieces::find(double x) const {
    const std::size_t last = size();
    if (!last || !(x >= edges_[0] && x < edges_[last])) return nowhere;
    std::uint32_t p = bucket_[static_cast<std::size_t>((x - low_) * per_bucket_)];
    const auto far = static_cast<std::uint32_t>(std::min<std::size_t>(p + 8, last));
    while (p < far && x >= edges_[p + 1]) ++p;
    if (p == far)
        p = static_cast<std::uint32_t>(std::upper_bound(edges_.begin() + far, edges_.end(), x) - edges_.begin()) - 1;
    while (x < edges_[p]) --p;  // what rounding put into the bucket behind
    return p;
}

bool Pieces::add(std::uint32_t p, double x, double* out) const {
    if (p == nowhere || scale_[p] != scale_[p]) return false;
    const double t = (x - middle_[p]) * scale_[p];
    const double* c = coefficients_.data() + p * terms_ * padded_;
    for (std::size_t y = 0; y < padded_; y += 4) {
        Doubles sum = {};
        if (terms_ > 1)
            for (std::size_t k = TERMS - 1; k > 0; --k) sum = (sum + load4(c + k * padded_ + y)) * t;
        store4(out + y, load4(out + y) + (sum + load4(c + y)));
    }
    return true;
}

Pieces::Table Pieces::table() const {
    Table found{edges_, middle_, scale_, {}, terms_};
    for (std::size_t row = 0; row < size() * terms_; ++row)
        for (std::size_t y = 0; y < K_; ++y) found.coefficients.push_back(coefficients_[row * padded_ + y]);
    return found;
}

void Kernels::make_pieces(double low, double high, double good, double asked) {
    for (auto& own : classes) {
        const double least = own.v.front() - 2.0 * own.h, most = own.v.back() + 2.0 * own.h;
        if (!((most - least) / own.h * 15.0 < asked)) continue;
        const Pieces::Values sum = [&own](const double* x, double* out) {
            kernel_sums_together(x, own.v.data(), own.w.data(), own.v.size(), own.h, own.tree.data(), out);
        };
        std::vector<double> ends{low, high};
        for (const double end : even_ends(least, most, 1.5 * own.h, 512))
            if (low < end && end < high) ends.push_back(end);
        own.sums = Pieces(sum, 1, ends, good);
    }
}

Curve::Curve(Shape shape, const Histo& h, const Moment* moments, const double* log_share, const Settings& how)
    : shape_(h.V ? shape : Shape::none), K_(h.K), log_share_(log_share, log_share + h.K) {
    if (shape_ == Shape::none) return;
    if (shape_ != Shape::kernel) bins_ = Bins(h.values, h.exact, without_zeros(h.table, h.V, K_), K_, how.smoothing);
    if (shape_ != Shape::binned) kernels_ = Kernels(h, how.floor);
    if (shape_ == Shape::mixed) normals_ = Normals(moments, K_, how.floor, how.ddof, how.smoothing);
    const double least = h.values[0], most = h.centres[h.V - 1], reach = most - least + 8.0 * kernels_.widest();
    std::vector<double> ends;
    if (shape_ != Shape::binned) {
        const double narrow = kernels_.narrowest();
        ends = even_ends(least - 3.0 * narrow, most + 3.0 * narrow, 1.5 * narrow, 256);
    }
    ends.insert(ends.end(), {least - reach, most + reach});
    ends.insert(ends.end(), bins_.cuts.begin(), bins_.cuts.end());
    kernels_.make_pieces(least - reach, most + reach, BETTER, -NEVER);
    pieces_ = Pieces([this](const double* x, double* out) { together(x, out); }, K_, ends, shape_ == Shape::binned ? 0.0 : GOOD);
}

void Curve::exact(double x, double* out) const {
    if (shape_ == Shape::binned) {
        std::copy_n(bins_.log_theta.data() + bins_.of(x) * K_, K_, out);
    } else if (shape_ == Shape::kernel) {
        kernels_.log_density(x, out);
    } else {
        double few[3 * 16];
        std::vector<double> many(K_ > 16 ? 3 * K_ : 0);
        double *binned = K_ > 16 ? many.data() : few, *kernel = binned + K_, *normal = kernel + K_;
        std::copy_n(bins_.log_theta.data() + bins_.of(x) * K_, K_, binned);
        kernels_.log_density(x, kernel);
        normals_.log_density(x, normal);
        odds(binned, log_share_.data(), K_), odds(normal, log_share_.data(), K_);
        const double log_p = odds(kernel, log_share_.data(), K_);
        mixture(binned, kernel, normal, K_, out);
        for (std::size_t k = 0; k < K_; ++k) out[k] += log_p;
    }
}

// As `exact`, of several points.
void Curve::together(const double* x, double* out) const {
    std::vector<double> said(shape_ == Shape::mixed ? 3 * K_ * BATCH : 0);
    double* binned = shape_ == Shape::mixed ? said.data() : out;
    if (shape_ != Shape::kernel)
        for (std::size_t i = 0; i < BATCH; ++i) {
            const double* theta = bins_.log_theta.data() + bins_.of(x[i]) * K_;
            for (std::size_t k = 0; k < K_; ++k) binned[k * BATCH + i] = theta[k];
        }
    if (shape_ == Shape::kernel) return kernels_.log_densities(x, out);
    if (shape_ == Shape::binned) return;
    double *kernel = binned + K_ * BATCH, *normal = kernel + K_ * BATCH, log_p[BATCH], unused[BATCH];
    kernels_.log_densities(x, kernel);
    normals_.log_densities(x, normal);
    odds_of_many(binned, log_share_.data(), K_, unused);
    odds_of_many(normal, log_share_.data(), K_, unused);
    odds_of_many(kernel, log_share_.data(), K_, log_p);
    mixture_of_many(binned, kernel, normal, K_, log_p, out);
}

void Curve::add(const double* x, std::ptrdiff_t step, std::size_t count, double* out, int* seen) const {
    const std::size_t stride = rounded_up(K_);
    std::vector<double> apart;
    std::uint32_t piece[BLOCK];
    for (std::size_t from = 0; from < count; from += BLOCK) {
        const std::size_t some = std::min(BLOCK, count - from);
        const double* values = x + static_cast<std::ptrdiff_t>(from) * step;
        for (std::size_t r = 0; r < some; ++r) piece[r] = pieces_.find(values[static_cast<std::ptrdiff_t>(r) * step]);
        for (std::size_t r = 0; r < some; ++r) {
            const double v = values[static_cast<std::ptrdiff_t>(r) * step];
            double* row = out + (from + r) * stride;
            if (pieces_.add(piece[r], v, row)) continue;
            if (!std::isfinite(v)) {
                *seen |= std::isnan(v) ? SAW_NAN : SAW_INF;
            } else if (shape_ != Shape::none) {
                apart.resize(K_);
                exact(v, apart.data());
                for (std::size_t k = 0; k < K_; ++k) row[k] += apart[k];
            }
        }
    }
}

}  // namespace posteriori
