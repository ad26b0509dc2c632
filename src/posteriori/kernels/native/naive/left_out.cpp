// How well each density of a column foretells the rows of a sample, each left out in turn. densities/choice.py says what is
// computed and why.
//
// Rows are taken in the order of their cells, BLOCK at a time, each number of theirs in a row of its own by class, so that
// exponentials and logarithms are taken four at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "densities.hpp"
#include "vec.hpp"

namespace posteriori {
namespace {

constexpr double ROWS = 1.0, NEVER = -std::numeric_limits<double>::infinity(), TINY = std::numeric_limits<double>::min();
constexpr double NOISE = 1e-9;  // less than this share of a sum of weights is none: their last digit hangs on how they were added
constexpr double ALONE = 1e-4;  // less than this share of a sum of kernels is none: sums are known to a tenth of it
constexpr std::size_t FOLDS = 10, BATCH = Pieces::BATCH, BLOCK = 4 * BATCH;
const double LOG_2PI = std::log(2.0 * std::acos(-1.0));

// A row that has a number in this column, and the cell that holds it.
struct Row {
    std::uint32_t i, cell;
};

// What is left of a weight, nothing where only rounding is.
double left_of(double n, double out) { return n - out > NOISE * n ? n - out : 0.0; }

// How much of the places 0 … t goes to a fold, when each in turn gets one.
double dealt(double t, std::size_t fold) {
    const double round = std::floor(t / FOLDS);
    return round + std::clamp(t - FOLDS * round - static_cast<double>(fold), 0.0, 1.0);
}

// Bins as they are, the row's count taken away.
void counts_less(const Bins& bins, const double* x, const Sampled& rows, const std::vector<Row>& there, double smoothing,
                 double* found) {
    const std::size_t K = rows.K, S = bins.cuts.size() + 1;
    std::vector<double> total(K, 0.0);
    for (std::size_t b = 0; b < S; ++b)
        for (std::size_t k = 0; k < K; ++k) total[k] += bins.count[b * K + k];
    for (const auto [i, cell] : there) {
        const std::size_t bin = bins.of(x[i]);
        std::copy_n(bins.log_theta.data() + bin * K, K, found + i * K);
        const auto y = rows.y[i];
        const double own = std::log((left_of(bins.count[bin * K + y], rows.out[i]) + smoothing) /
                                    (left_of(total[y], rows.out[i]) + static_cast<double>(S) * smoothing));
        found[i * K + y] = std::isnan(own) ? -std::log(static_cast<double>(S)) : own;
    }
}

// What a fold leaves of the values of each class, dealt out in their order: each in turn gets one.
struct Dealt {
    static constexpr std::uint8_t PARTED = 255;  // an entry of which several folds have a share
    const Histo& h;
    const Sparser& all;
    std::vector<double> end;          // places of the values, class by class
    std::vector<std::uint8_t> whole;  // the fold that has all of an entry
    Sparser rest;
    std::vector<double> values;

    Dealt(const Histo& column, const Sparser& entries, std::size_t K)
        : h(column), all(entries), end(all.n.size()), whole(all.n.size()), values(h.V) {
        std::vector<double> so_far(K + 1, 0.0);
        for (std::size_t e = 0; e < end.size(); ++e) so_far[all.y[e] + 1] += all.n[e];
        std::partial_sum(so_far.begin(), so_far.end(), so_far.begin());
        for (std::size_t e = 0; e < end.size(); ++e) {
            end[e] = so_far[all.y[e]] += all.n[e];
            whole[e] = all.n[e] == 1.0 && end[e] == std::floor(end[e]) ? static_cast<std::uint8_t>(of(e, 0.0)) : PARTED;
        }
    }

    // The fold of a row of an entry that has had so much of its turns.
    std::size_t of(std::size_t e, double turn) const {
        const double place = end[e] - all.n[e] + turn * all.n[e] + NOISE;
        return place < 1e15 ? static_cast<std::size_t>(place) % FOLDS : static_cast<std::size_t>(std::fmod(std::floor(place), FOLDS));
    }

    // `rest` and `values` without a fold. Places are written before it is known whether they stay.
    void without(std::size_t fold) {
        rest.y.resize(all.y.size() + 1), rest.n.resize(all.n.size() + 1), rest.first.resize(h.V + 1);
        std::size_t to = 0, cells = 0;
        for (std::size_t v = 0; v < h.V; ++v) {
            const std::size_t begin = to;
            for (std::size_t e = all.first[v]; e < all.first[v + 1]; ++e) {
                double left = all.n[e];
                if (whole[e] == PARTED) left = left_of(left, dealt(end[e], fold) - dealt(end[e] - left, fold));
                rest.y[to] = all.y[e], rest.n[to] = left;
                to += whole[e] != fold && left > 0.0;
            }
            rest.first[cells] = begin, values[cells] = h.values[v];
            cells += to > begin;
        }
        rest.first[cells] = to;
        rest.y.resize(to), rest.n.resize(to), rest.first.resize(cells + 1);
    }
};

// Bins whose cuts the row had no say in: searched without a tenth of the values of each class, dealt out in their order.
void bins_without(const Histo& h, const double* x, const Sampled& rows, const std::vector<Row>& there, double smoothing,
                  double folded, double* found) {
    const std::size_t K = rows.K;
    const Sparser all = without_zeros(h.table, h.V, K);
    if (std::accumulate(all.n.begin(), all.n.end(), 0.0) > folded)
        return counts_less(Bins(h.values, h.exact, all, K, smoothing), x, rows, there, smoothing, found);
    Dealt dealt(h, all, K);
    std::vector<std::uint32_t> of[FOLDS];
    for (const auto [i, cell] : there) {
        std::size_t e = all.first[cell];
        while (all.y[e] != rows.y[i]) ++e;
        of[dealt.of(e, rows.turn[i])].push_back(i);
    }
    for (std::size_t f = 0; f < FOLDS; ++f) {
        if (of[f].empty()) continue;
        dealt.without(f);
        const Bins bins(dealt.values.data(), h.exact, dealt.rest, K, smoothing);
        for (const auto i : of[f]) std::copy_n(bins.log_theta.data() + bins.of(x[i]) * K, K, found + i * K);
    }
}

// The moments of a column without one row: those of its class, and of all.
struct Without {
    const Histo& h;
    const Moment* m;
    std::size_t K;
    std::vector<Moment> before, after;            // the classes before and after each
    std::vector<double> others;                   // M2 of all classes but one
    std::vector<std::size_t> first, last, cells;  // of each class

    Without(const Histo& column, const Moment* moments, std::size_t classes)
        : h(column), m(moments), K(classes), before(K + 1), after(K + 1), others(K, 0.0), first(K, 0), last(K, 0), cells(K, 0) {
        for (std::size_t v = 0; v < h.V; ++v)
            for (std::size_t c = 0; c < K; ++c)
                if (h.table[v * K + c] > 0.0) first[c] = cells[c]++ ? first[c] : v, last[c] = v;
        before[0] = after[K] = {0.0, 0.0, 0.0};
        for (std::size_t c = 0; c < K; ++c) before[c + 1] = merged(before[c], m[c]);
        for (std::size_t c = K; c-- > 0;) after[c] = merged(m[c], after[c + 1]);
        for (std::size_t y = 0; y < K; ++y)
            for (std::size_t c = 0; c < K; ++c) others[y] += c == y ? 0.0 : m[c].m2;
    }
    Moment own(double x, std::size_t cell, std::size_t y, double out) const {
        const Moment& all = m[y];
        const double left = left_of(all.n, out), gap = x - all.mean;
        if (!(left > 0.0)) return {0.0, 0.0, 0.0};
        if (h.exact && cells[y] == 2 && !(left_of(h.table[cell * K + y], out) > 0.0))  // what stays is one value
            return {left, h.values[cell == first[y] ? last[y] : first[y]], 0.0};
        return {left, all.mean - gap * out / left, std::max(all.m2 - out * gap * gap * all.n / left, 0.0)};
    }
    Spread spread(const Moment& less, std::size_t y, double floor) const {
        return usual_spread(merged(merged(before[y], less), after[y + 1]), others[y] + less.m2, floor);
    }
};

// A block of rows: what each density says of them, (K, BLOCK) each, and what is needed for it.
class Block {
  public:
    Block(const Histo& column, const Moment* m, const Sampled& sampled, const Settings& settings, const Kernels& made)
        : h(column), moments(m), rows(sampled), how(settings), K(rows.K), kernels(made), without(column, m, K), log_total(K),
          log_width(K), log_rows(K), room(9 * K * BLOCK) {
        double* from = room.data();
        for (double** part : {&binned, &kernel, &normal, &variance, &share, &per_share, &p[0], &p[1], &p[2]})
            *part = from, from += K * BLOCK;
        for (std::size_t k = 0; k < K; ++k) {
            log_total[k] = std::log(kernels.classes[k].total);
            log_width[k] = std::log(kernels.classes[k].h) + 0.5 * LOG_2PI;
            log_rows[k] = std::log(kernels.classes[k].total + ROWS);
        }
    }

    // `parts` holds what bins say, and gets all that the densities say, as ln P(y|x)/P(y).
    void take(const double* x, const Row* some, std::size_t n, double* parts) {
        at = some, count = n;
        read(x, parts);
        say_kernels();
        say_normals();
        mix();
        write(parts);
    }

  private:
    void read(const double* x, const double* parts) {
        for (std::size_t r = 0; r < BLOCK; ++r) {
            const auto [i, cell] = at[std::min(r, count - 1)];  // the last one fills the block
            const std::size_t y = rows.y[i];
            own[r] = y, value[r] = x[i], out[r] = rows.out[i];
            from_centre[r] = (x[i] - h.centres[cell]) / kernels.classes[y].h;
            less[r] = without.own(x[i], cell, y, rows.out[i]);
            usual[r] = without.spread(less[r], y, how.floor);
            const Moment& pooled = usual[r].pooled;
            wide[r] = std::max(pooled.n > 0.0 ? pooled.m2 / pooled.n : 0.0, usual[r].spread);
            for (std::size_t k = 0; k < K; ++k) {
                binned[k * BLOCK + r] = parts[i * K + k];
                share[k * BLOCK + r] = rows.log_share[i * K + k];
                per_share[k * BLOCK + r] = rows.per_share[i * K + k];
            }
        }
    }

    // ln of [Σ over the kernels but the row's own + ν rows of a normal for all]/(n + ν).
    void say_kernels() {
        for (std::size_t k = 0; k < K; ++k) {
            double* near = kernel + k * BLOCK;
            for (std::size_t r = 0; r < count; r += BATCH) kernels.log_sums(k, value + r, near + r);
            for (std::size_t r = 0; r < BLOCK; ++r) near[r] += log_total[k];
        }
        logs(out, work);
        for (std::size_t r = 0; r < BLOCK; ++r)
            work[r] = std::min(work[r] - 0.5 * from_centre[r] * from_centre[r] - kernel[own[r] * BLOCK + r], 0.0);
        exp_all(work, BLOCK);
        for (std::size_t r = 0; r < BLOCK; ++r) alone[r] = !(work[r] < 1.0 - ALONE), work[r] = alone[r] ? 1.0 : 1.0 - work[r];
        log_all(work, BLOCK);
        for (std::size_t r = 0; r < BLOCK; ++r) kernel[own[r] * BLOCK + r] += alone[r] ? NEVER : work[r];
        logs(wide, base);
        for (std::size_t r = 0; r < BLOCK; ++r) {
            const double gap = value[r] - usual[r].pooled.mean;
            base[r] = -0.5 * (LOG_2PI + base[r] + gap * gap / wide[r]) + std::log(ROWS);
            work[r] = less[r].n + ROWS;
        }
        for (std::size_t k = 0; k < K; ++k) {
            double *near = kernel + k * BLOCK, *both = p[0] + k * BLOCK;
            for (std::size_t r = 0; r < BLOCK; ++r) {
                const double a = near[r] - log_width[k], top = std::max(a, base[r]), low = std::min(a, base[r]) - top;
                near[r] = top - log_rows[k], both[r] = low > -40.0 ? low : NEVER;
            }
        }
        exp_all(p[0], K * BLOCK);
        for (std::size_t r = 0; r < K * BLOCK; ++r) p[0][r] += 1.0;
        log_all(p[0], K * BLOCK);
        for (std::size_t r = 0; r < K * BLOCK; ++r) kernel[r] += p[0][r];
        logs(work, work);
        for (std::size_t r = 0; r < BLOCK; ++r) kernel[own[r] * BLOCK + r] += log_rows[own[r]] - work[r];
    }

    void say_normals() {
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t r = 0; r < BLOCK; ++r) {
                const Moment &m = k == own[r] ? less[r] : moments[k], &pooled = usual[r].pooled;
                const Moment& wider = m.n > 0.0 ? m : pooled;
                const double gap = value[r] - wider.mean, s2 = usual[r].variance_of(wider, m.n, how.ddof, how.smoothing);
                variance[k * BLOCK + r] = s2, normal[k * BLOCK + r] = gap * gap / s2 + LOG_2PI;
            }
        for (std::size_t k = 0; k < K; ++k) logs(variance + k * BLOCK, variance + k * BLOCK);
        for (std::size_t r = 0; r < K * BLOCK; ++r) normal[r] = -0.5 * (normal[r] + variance[r]);
    }

    // Each density's ln p becomes ln P(y|x)/P(y), nothing below −worst; p their exponentials.
    void mix() {
        std::size_t m = 0;
        for (double* log_p : {binned, kernel, normal}) {
            double *e = p[m++], top[BLOCK], sum[BLOCK];
            std::fill_n(top, BLOCK, NEVER), std::fill_n(sum, BLOCK, 0.0);
            for (std::size_t k = 0; k < K * BLOCK; k += BLOCK)
                for (std::size_t r = 0; r < BLOCK; ++r) top[r] = std::max(top[r], log_p[k + r] + share[k + r]);
            for (std::size_t k = 0; k < K * BLOCK; k += BLOCK)
                for (std::size_t r = 0; r < BLOCK; ++r) e[k + r] = top[r] == NEVER ? 0.0 : log_p[k + r] + share[k + r] - top[r];
            exp_all(e, K * BLOCK);
            for (std::size_t k = 0; k < K * BLOCK; k += BLOCK)
                for (std::size_t r = 0; r < BLOCK; ++r) sum[r] += e[k + r];
            std::copy_n(sum, BLOCK, work);
            log_all(work, BLOCK);
            for (std::size_t k = 0; k < K * BLOCK; k += BLOCK)
                for (std::size_t r = 0; r < BLOCK; ++r) {
                    const double said = log_p[k + r] - (top[r] + work[r]);
                    log_p[k + r] = top[r] == NEVER ? 0.0 : std::max(said, -rows.worst);
                    e[k + r] = top[r] == NEVER ? 1.0 : std::max(e[k + r] / sum[r] * per_share[k + r], rows.least);
                }
        }
        for (std::size_t r = 0; r < K * BLOCK; ++r) p[0][r] = (p[0][r] + p[1][r] + p[2][r]) / 3.0;
        log_all(p[0], K * BLOCK);
    }

    void write(double* parts) const {
        const std::size_t one = rows.R * K;
        const double* said[] = {binned, kernel, normal, p[0]};
        for (std::size_t m = 0; m < 4; ++m)
            for (std::size_t r = 0; r < count; ++r)
                for (std::size_t k = 0; k < K; ++k) parts[m * one + at[r].i * K + k] = said[m][k * BLOCK + r];
    }

    // ln of BLOCK numbers >= 0.
    static void logs(const double* x, double* out) {
        bool normal = true;
        for (std::size_t r = 0; r < BLOCK; ++r) normal &= x[r] >= TINY && x[r] <= std::numeric_limits<double>::max();
        if (out != x) std::copy_n(x, BLOCK, out);
        if (normal) return log_all(out, BLOCK);
        for (std::size_t r = 0; r < BLOCK; ++r) out[r] = std::log(out[r]);
    }

    const Histo& h;
    const Moment* moments;
    const Sampled& rows;
    const Settings& how;
    const std::size_t K;
    const Kernels& kernels;
    const Without without;
    std::vector<double> log_total, log_width, log_rows, room;
    double *binned, *kernel, *normal, *variance, *share, *per_share, *p[3];
    const Row* at = nullptr;
    std::size_t count = 0, own[BLOCK];
    double value[BLOCK], out[BLOCK], from_centre[BLOCK], wide[BLOCK], base[BLOCK], work[BLOCK];
    bool alone[BLOCK];
    Moment less[BLOCK];
    Spread usual[BLOCK];
};

// The cell that holds x, the first where none does; no branch depends on x.
std::uint32_t cell_of(const Histo& h, double x) {
    std::size_t cell = 0;
    for (std::size_t n = h.V; n > 1; n -= n / 2) cell += h.values[cell + n / 2] <= x ? n / 2 : 0;
    return static_cast<std::uint32_t>(cell);
}

// The rows that have a number here, in the order of their cells, or false where a cell has no such row.
bool in_order(const Histo& h, const double* x, const Sampled& rows, std::vector<Row>& there) {
    std::vector<std::uint32_t> cells(rows.R), first(h.V + 1, 0);
    for (std::size_t i = 0; i < rows.R; ++i) {
        if (std::isnan(x[i])) continue;
        if (!h.V || !(x[i] >= h.values[0])) return false;
        cells[i] = cell_of(h, x[i]);
        if (!(h.table[cells[i] * h.K + rows.y[i]] > 0.0)) return false;
        ++first[cells[i] + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    there.resize(first.back());
    for (std::size_t i = 0; i < rows.R; ++i)
        if (!std::isnan(x[i])) there[first[cells[i]]++] = {static_cast<std::uint32_t>(i), cells[i]};
    return true;
}

}  // namespace

bool left_out(const Histo& h, const Moment* moments, const double* x, const Sampled& rows, const Settings& how,
              double folded, double* parts) {
    std::vector<Row> there;
    if (!in_order(h, x, rows, there)) return false;
    std::fill_n(parts, 5 * rows.R * rows.K, 0.0);
    if (there.empty()) return true;
    bins_without(h, x, rows, there, how.smoothing, folded, parts);
    Kernels kernels(h, how.floor);
    const double most = h.centres[h.V - 1] + (h.centres[h.V - 1] - h.values[h.V - 1]) + kernels.narrowest();
    kernels.make_pieces(h.values[0], most, 0.1 * ALONE, static_cast<double>(there.size()));
    Block block(h, moments, rows, how, kernels);
    for (std::size_t from = 0; from < there.size(); from += BLOCK)
        block.take(x, there.data() + from, std::min(BLOCK, there.size() - from), parts);
    return true;
}

}  // namespace posteriori
