// One pass: rows in blocks, of which those that bounds do not spare are looked at; rows whose label has changed are carried
// from sum to sum in double precision.
#include "kmeans.hpp"

#include <atomic>
#include <stdexcept>

#include "kmeans_near.hpp"
#include "threads.hpp"

namespace posteriori::kmeans {
namespace {

constexpr std::size_t BLOCK = 256;                   // rows looked at together
constexpr float UP = 1 + 4e-7f, DOWN = 1 - 4e-7f;    // whatever single precision has rounded away

// high + low += x, of which nothing is lost but what lies below the last digit of low.
POSTERIORI_INLINE void add(double& high, double& low, double x) {
    const double sum = high + x, back = sum - high;
    low += (high - (sum - back)) + (x - back);
    high = sum;
}

// What rows bring to the sums of some centres and take from them; room only for the centres that are touched.
class Delta {
  public:
    Delta(std::size_t K, std::size_t d) : d_(d), slot_(K, -1) {}

    template <typename T> void move(const Rows<T>& rows, std::size_t r, std::int32_t from, std::int32_t to) {
        const double w = rows.weights ? rows.weights[r] : 1.0;
        const T* x = rows.X + r * d_;
        if (from >= 0) put(x, rows.shift, -w, from);
        put(x, rows.shift, w, to);
    }

    void into(const Sums& sums) const {
        const std::size_t width = d_ + 1;
        for (std::size_t s = 0; s < touched_.size(); ++s) {
            const double* part = &room_[s * 2 * width];
            double *high = sums.high + std::size_t(touched_[s]) * width, *low = sums.low + std::size_t(touched_[s]) * width;
            for (std::size_t j = 0; j < width; ++j) {
                add(high[j], low[j], part[j]);
                low[j] += part[width + j];
            }
        }
    }

  private:
    template <typename T> void put(const T* __restrict x, const double* __restrict shift, double w, std::int32_t k) {
        const std::size_t width = d_ + 1;
        if (slot_[k] < 0) {
            slot_[k] = std::int32_t(touched_.size());
            touched_.push_back(k);
            room_.resize(room_.size() + 2 * width, 0.0);
        }
        double *__restrict high = &room_[std::size_t(slot_[k]) * 2 * width], *__restrict low = high + width;
        double part[64];  // products are rounded here: one fused into the addition has digits that `add` would lose
        for (std::size_t j = 0; j < d_; j += 64) {
            const std::size_t some = std::min<std::size_t>(64, d_ - j);
            for (std::size_t i = 0; i < some; ++i) part[i] = w * (double(x[j + i]) - shift[j + i]);
            for (std::size_t i = 0; i < some; ++i) add(high[j + i], low[j + i], part[i]);
        }
        add(high[d_], low[d_], w);
    }

    std::size_t d_;
    std::vector<std::int32_t> slot_, touched_;
    std::vector<double> room_;  // (touched, 2, d + 1)
};

template <typename T, typename F> struct Search {
    const Rows<T>& rows;
    const Centres& centres;
    const Packed<F> packed;
    // Of each centre, in units: how far it has moved, how far any other has, half the distance to the nearest other.
    std::vector<float> own_drift, other_drift, half;

    Search(const Rows<T>& r, const Centres& c, const double* drift) : rows(r), centres(c), packed(c, r.d, r.unit) {
        if (drift == nullptr) return;
        double most = 0.0, next = 0.0;
        std::size_t which = 0;
        for (std::size_t k = 0; k < c.K; ++k) {
            if (drift[k] > most) next = most, most = drift[k], which = k;
            else next = std::max(next, drift[k]);
        }
        const std::vector<double> origin(r.d, 0.0);
        std::vector<double> nearest(c.K, std::numeric_limits<double>::infinity());
        for (std::size_t k = 0; k < c.K; ++k)
            for (std::size_t l = 0; l < k; ++l) {
                const double gap = apart(c.C + k * r.d, origin.data(), c.C + l * r.d, r.d);
                nearest[k] = std::min(nearest[k], gap), nearest[l] = std::min(nearest[l], gap);
            }
        for (std::size_t k = 0; k < c.K; ++k) {
            own_drift.push_back(float(drift[k]) * UP);
            other_drift.push_back(float(k == which ? next : most) * UP);
            half.push_back(float(0.5 * r.unit * std::sqrt(nearest[k])) * DOWN);
        }
    }

    // Bounds of some rows after the centres have moved: the distance to the own centre from above, and from below how far
    // away it would have to be for another to be nearer.
    void move_bounds(std::size_t count, const std::int32_t* label, float* upper, float* lower, float* least) const {
        const float *own = own_drift.data(), *other = other_drift.data(), *between = half.data();
        for (std::size_t i = 0; i < count; ++i) {
            const float low = lower[i] - other[label[i]];
            upper[i] = (upper[i] + own[label[i]]) * UP;
            lower[i] = low * (low > 0 ? DOWN : UP);
            least[i] = std::max(lower[i], between[label[i]]);
        }
    }

    float distance_above(std::size_t r, std::int32_t label) const {
        return float(rows.unit * std::sqrt(apart(rows.X + r * rows.d, rows.shift, centres.C + label * rows.d, rows.d))) * UP;
    }

    void prefetch(std::size_t r) const {
        const char* x = reinterpret_cast<const char*>(rows.X + r * rows.d);
        for (std::size_t byte = 0; byte < rows.d * sizeof(T); byte += 64) __builtin_prefetch(x + byte);
    }

    // By differences: the nearest centre and the squared distances to it and to the next.
    std::int32_t settle(std::size_t r, double& nearest, double& next) const {
        std::int32_t best = 0;
        nearest = next = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < centres.K; ++k) {
            const double gap = apart(rows.X + r * rows.d, centres.origin, centres.place + k * rows.d, rows.d);
            if (gap < nearest) next = nearest, nearest = gap, best = std::int32_t(k);
            else next = std::min(next, gap);
        }
        return best;
    }

    // Rows in doubt get the label that differences give; how many there were.
    template <typename Row>
    std::int64_t settle_doubts(Verdict<F>& verdict, const Row& row_of, std::size_t here, float* bounds) const {
        std::int64_t settled = 0;
        for (std::size_t i = 0; verdict.doubtful && i < here; ++i) {
            if (verdict.doubt[i] == 0) continue;
            const std::size_t r = row_of(i);
            double nearest, next;
            verdict.index[i] = settle(r, nearest, next);
            ++settled;
            if (!bounds) continue;
            bounds[r] = float(rows.unit * std::sqrt(nearest)) * UP;
            bounds[rows.n + r] = float(rows.unit * std::sqrt(next)) * DOWN;
        }
        return settled;
    }

    template <typename Row>
    void bound(const Verdict<F>& verdict, const F* panel, const Row& row_of, std::size_t here, float* bounds) const {
        for (std::size_t i = 0; i < here; ++i) {
            const F size = panel[rows.d * GROUP + i], norm2 = size * size, off = 6 * verdict.off[i];
            const std::size_t r = row_of(i);
            bounds[r] = float(std::sqrt(std::max(norm2 + 2 * verdict.value[i] + off, F(0)))) * UP;
            bounds[rows.n + r] = float(std::sqrt(std::max(norm2 + 2 * verdict.second[i] - off, F(0)))) * DOWN;
        }
    }
};

// One part of the rows.
template <typename T, typename F> class Part {
  public:
    Part(const Search<T, F>& search, std::int32_t* label, float* bounds, Delta* delta)
        : search_(search), rows_(search.rows), label_(label), bounds_(bounds), delta_(delta), panel_((rows_.d + 1) * GROUP) {}

    void look_at_all(std::size_t first, std::size_t count) {
        if (delta_) check_labels(first, count, -1);
        for (std::size_t at = first; at < first + count; at += GROUP) {
            const std::size_t here = std::min(GROUP, first + count - at);
            const auto row_of = [at](std::size_t i) { return at + i; };
            if constexpr (sizeof(F) == 4) {
                if (rows_.panels) {
                    group(rows_.panels + at / GROUP * (rows_.d + 1) * GROUP, row_of, here);
                    continue;
                }
            }
            fill_panel(rows_, row_of, here, panel_.data());
            group(panel_.data(), row_of, here);
        }
        step_.looked += std::int64_t(count);
        carry();
    }

    void look_where_in_doubt(std::size_t first, std::size_t count) {
        check_labels(first, count, 0);
        std::uint32_t active[BLOCK];
        float least[BLOCK], *upper = bounds_ + first;
        search_.move_bounds(count, label_ + first, upper, bounds_ + rows_.n + first, least);
        std::size_t doubtful = 0, m = 0;
        for (std::size_t i = 0; i < count; ++i) {
            active[doubtful] = std::uint32_t(i);
            doubtful += !(upper[i] < least[i]);
        }
        for (std::size_t i = 0; i < doubtful; ++i) search_.prefetch(first + active[i]);
        for (std::size_t i = 0; i < doubtful; ++i) {
            const std::uint32_t at = active[i];
            upper[at] = search_.distance_above(first + at, label_[first + at]);
            active[m] = at;
            m += !(upper[at] < least[at]);
        }
        for (std::size_t at = 0; at < m; at += GROUP) {
            const std::size_t here = std::min(GROUP, m - at);
            const auto row_of = [&, at](std::size_t i) { return first + active[at + i]; };
            fill_panel(rows_, row_of, here, panel_.data());
            group(panel_.data(), row_of, here);
        }
        step_.looked += std::int64_t(m);
        carry();
    }

    const Step& step() const { return step_; }

  private:
    void check_labels(std::size_t first, std::size_t count, std::int32_t least) const {
        bool right = true;
        for (std::size_t r = first; r < first + count; ++r)
            right &= label_[r] >= least && label_[r] < std::int32_t(search_.centres.K);
        if (!right) throw std::invalid_argument("a label is that of no centre");
    }

    template <typename Row> void group(const F* panel, const Row& row_of, std::size_t here) {
        Verdict<F> verdict;
        judge(search_.packed, panel, rows_.d, verdict);
        if (bounds_) search_.bound(verdict, panel, row_of, here, bounds_);
        if (verdict.doubtful) step_.settled += search_.settle_doubts(verdict, row_of, here, bounds_);
        for (std::size_t i = 0; i < here; ++i) {
            const std::size_t r = row_of(i);
            const std::int32_t from = label_[r], to = std::int32_t(verdict.index[i]);
            if (from == to) continue;
            label_[r] = to;
            moved_[moving_++] = {r, from};
            if (delta_) search_.prefetch(r);
        }
    }

    // Rows of a block whose label has changed, once they have come from memory.
    void carry() {
        for (std::size_t i = 0; delta_ && i < moving_; ++i)
            delta_->move(rows_, moved_[i].row, moved_[i].from, label_[moved_[i].row]);
        step_.changed += std::int64_t(moving_);
        moving_ = 0;
    }

    struct Moved {
        std::size_t row;
        std::int32_t from;
    };

    const Search<T, F>& search_;
    const Rows<T>& rows_;
    std::int32_t* label_;
    float* bounds_;
    Delta* delta_;
    std::vector<F> panel_;
    Moved moved_[BLOCK];
    std::size_t moving_ = 0;
    Step step_{0, 0, 0};
};

template <typename T, typename F>
Step run(const Rows<T>& rows, const Centres& centres, const double* drift, std::int32_t* label, float* bounds,
         const Sums* sums, int threads) {
    const std::size_t n = rows.n, d = rows.d, K = centres.K, blocks = (n + BLOCK - 1) / BLOCK;
    if (!bounds) drift = nullptr;
    const Search<T, F> search(rows, centres, drift);
    // parts by the shapes alone: as many as keep threads busy, as few as memory wants
    const std::size_t most = std::clamp<std::size_t>((std::size_t(64) << 20) / (K * (d + 1) * 16), 8, 64);
    const std::size_t each = std::max<std::size_t>((blocks + most - 1) / most, std::min<std::size_t>(blocks, 8));
    const std::size_t parts = blocks ? (blocks + each - 1) / each : 0;
    std::vector<Delta> deltas(sums ? parts : 0, Delta(K, d));
    std::atomic<std::int64_t> changed{0}, settled{0}, looked{0};
    parallel_for(parts, threads, [&](std::size_t t) {
        Part<T, F> part(search, label, bounds, sums ? &deltas[t] : nullptr);
        for (std::size_t b = t * each; b < std::min(blocks, (t + 1) * each); ++b) {
            const std::size_t first = b * BLOCK, count = std::min(BLOCK, n - first);
            if (drift) part.look_where_in_doubt(first, count);
            else part.look_at_all(first, count);
        }
        changed += part.step().changed, settled += part.step().settled, looked += part.step().looked;
    });
    for (const Delta& delta : deltas) delta.into(*sums);
    return {changed, settled, looked};
}

}  // namespace

template <typename T>
Step step(const Rows<T>& rows, const Centres& centres, const double* drift, bool wide, std::int32_t* label, float* bounds,
          const Sums* sums, int threads) {
    return wide ? run<T, double>(rows, centres, drift, label, bounds, sums, threads)
                : run<T, float>(rows, centres, drift, label, bounds, sums, threads);
}

template Step step<float>(const Rows<float>&, const Centres&, const double*, bool, std::int32_t*, float*, const Sums*, int);
template Step step<double>(const Rows<double>&, const Centres&, const double*, bool, std::int32_t*, float*, const Sums*, int);

}  // namespace posteriori::kmeans
