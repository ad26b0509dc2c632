// Histograms of the columns of a matrix in one pass each, and the hashes of its rows.
//
// Cells are kept in a table of slots at the least level that the values so far allow; where they become too many the level
// rises and cells are joined, which no order of the values changes: the level of all is at least that of some.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "densities.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::uint64_t EMPTY = ~std::uint64_t{0}, SIGN = std::uint64_t{1} << 63;

inline std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    x += 0.0;  // −0 counts as 0
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline std::uint64_t key_of(double x) {
    const std::uint64_t bits = bits_of(x);
    return bits & SIGN ? ~bits : bits | SIGN;
}

// The least level, not below `least`, at which keys (of that level, sorted and distinct) are at most `limit` cells.
int level_for(const std::vector<std::uint64_t>& keys, int least, std::size_t limit) {
    if (keys.size() <= limit) return least;
    std::size_t parted[65] = {};  // pairs of neighbours that differ in this bit and in none above it
    for (std::size_t i = 1; i < keys.size(); ++i) ++parted[63 - __builtin_clzll(keys[i] ^ keys[i - 1])];
    std::size_t cells = keys.size();
    int up = 0;
    while (cells > limit && least + up < 63) cells -= parted[up++];
    return least + up;
}

template <typename Count> class Slots {
public:
    Slots(std::size_t K, std::size_t limit, std::size_t rows, int level) : K_(K), limit_(limit), level_(level) {
        std::size_t size = 16;
        while (size < 2 * std::min(limit + 1, rows)) size *= 2;
        shift_ = 64 - (__builtin_ctzll(size) - 3);
        key_.assign(size, EMPTY);
        count_.assign(size * K, Count{});
    }

    void add(std::uint64_t key, std::uint32_t y, Count w) {
        const std::size_t at = slot(key >> level_);
        if (key_[at] == EMPTY) {
            if (used_ == limit_) return rise(key, y, w);
            key_[at] = key >> level_;
            ++used_;
        }
        count_[at * K_ + y] += w;
    }

    Binning found() const {
        std::vector<std::pair<std::uint64_t, std::size_t>> order;
        order.reserve(used_);
        for (std::size_t i = 0; i < key_.size(); ++i)
            if (key_[i] != EMPTY) order.emplace_back(key_[i], i);
        std::sort(order.begin(), order.end());
        Binning out;
        out.level = level_;
        out.keys.reserve(used_);
        out.table.reserve(used_ * K_);
        for (const auto& [key, at] : order) {
            out.keys.push_back(key << level_);
            for (std::size_t k = 0; k < K_; ++k) out.table.push_back(static_cast<double>(count_[at * K_ + k]));
        }
        return out;
    }

private:
    // Eight neighbours share a line of the cache.
    std::size_t slot(std::uint64_t cell) const {
        std::size_t at = (((cell >> 3) * 0x9E3779B97F4A7C15u) >> shift_) << 3 | (cell & 7);
        while (key_[at] != cell && key_[at] != EMPTY) at = (at + 1) & (key_.size() - 1);
        return at;
    }

    void rise(std::uint64_t key, std::uint32_t y, Count w) {
        std::vector<std::uint64_t> cells{key >> level_};
        for (const auto k : key_)
            if (k != EMPTY) cells.push_back(k);
        std::sort(cells.begin(), cells.end());
        const int up = level_for(cells, level_, limit_) - level_;
        std::vector<std::uint64_t> keys(key_.size(), EMPTY);
        std::vector<Count> counts(count_.size(), Count{});
        keys.swap(key_), counts.swap(count_);
        level_ += up;
        used_ = 0;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] == EMPTY) continue;
            const std::size_t at = slot(keys[i] >> up);
            used_ += key_[at] == EMPTY;
            key_[at] = keys[i] >> up;
            for (std::size_t k = 0; k < K_; ++k) count_[at * K_ + k] += counts[i * K_ + k];
        }
        add(key, y, w);
    }

    std::size_t K_, limit_, used_ = 0;
    int level_, shift_;
    std::vector<std::uint64_t> key_;
    std::vector<Count> count_;
};

template <typename Count>
Binning one(const double* x, const std::uint32_t* y, const double* w, std::size_t n, std::size_t K, std::size_t limit) {
    int level = 0;
    if (n > limit) {  // some of the values tell most of the level
        std::vector<std::uint64_t> some;
        const std::size_t step = std::max<std::size_t>(1, n / (2 * limit));
        for (std::size_t r = 0; r < n; r += step)
            if (std::isfinite(x[r]) && !(w && w[r] == 0.0)) some.push_back(key_of(x[r]));
        std::sort(some.begin(), some.end());
        some.erase(std::unique(some.begin(), some.end()), some.end());
        level = level_for(some, 0, limit);
    }
    Slots<Count> slots(K, limit, n, level);
    int seen = CLEAN;
    for (std::size_t r = 0; r < n; ++r) {
        if (!std::isfinite(x[r])) {
            seen |= std::isnan(x[r]) ? SAW_NAN : SAW_INF;
        } else if (!w) {
            slots.add(key_of(x[r]), y[r], Count{1});
        } else if (w[r] > 0.0) {
            slots.add(key_of(x[r]), y[r], static_cast<Count>(w[r]));
        }
    }
    Binning out = slots.found();
    out.seen = seen;
    return out;
}

// SplitMix by Steele, Lea and Flood: sixty-four bits of which each depends on all.
inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

}  // namespace

std::vector<Binning> histograms(const Matrix<double>& X, const Column& y, std::size_t K, const double* w,
                                std::size_t limit, int threads) {
    std::vector<Binning> found(X.d);
    std::vector<std::uint32_t> classes(X.n);
    read_classes(y, 0, X.n, K, classes.data());
    const std::size_t n = X.n, room = (std::size_t{1} << 23) / std::max<std::size_t>(n, 1);
    const std::size_t group = std::clamp<std::size_t>(std::min<std::size_t>(room, X.d / std::max(threads, 1)), 1, 8);
    const std::size_t block = std::max<std::size_t>(16, 4096 / std::max<std::size_t>(X.d, 1));
    parallel_for((X.d + group - 1) / group, threads, [&](std::size_t task) {
        const std::size_t from = task * group, some = std::min(group, X.d - from);
        std::vector<double> columns(n * some), turned;
        Matrix<double> part = X;  // these columns alone
        part.d = some;
        part.data = static_cast<const char*>(X.data) + static_cast<std::ptrdiff_t>(from) * X.column * X.size;
        for (std::size_t b = 0; b < n; b += block) {
            const std::size_t count = std::min(block, n - b);
            std::ptrdiff_t step;
            const double* rows = part.rows(b, count, turned, &step);
            for (std::size_t j = 0; j < some; ++j)
                for (std::size_t r = 0; r < count; ++r)
                    columns[j * n + b + r] = rows[static_cast<std::ptrdiff_t>(r) * step + static_cast<std::ptrdiff_t>(j)];
        }
        for (std::size_t j = 0; j < some; ++j) {
            const double* x = columns.data() + j * n;
            found[from + j] = w || n >> 32 ? one<double>(x, classes.data(), w, n, K, limit)
                                           : one<std::uint32_t>(x, classes.data(), w, n, K, limit);
        }
    });
    return found;
}

void add_hashes(const Matrix<double>& X, const std::uint64_t* salts, std::uint64_t* total, int threads) {
    const std::size_t block = std::clamp<std::size_t>((std::size_t{1} << 15) / std::max<std::size_t>(X.d, 1), 16, 4096);
    const double nan = std::nan("");
    parallel_for((X.n + block - 1) / block, threads, [&](std::size_t b) {
        const std::size_t begin = b * block, count = std::min(block, X.n - begin);
        std::vector<double> turned;
        std::ptrdiff_t step;
        const double* rows = X.rows(begin, count, turned, &step);
        for (std::size_t r = 0; r < count; ++r) {
            const double* x = rows + static_cast<std::ptrdiff_t>(r) * step;
            std::uint64_t sum = 0;
            for (std::size_t j = 0; j < X.d; ++j) sum += mix(bits_of(x[j] == x[j] ? x[j] : nan) ^ salts[j]);
            total[begin + r] += sum;
        }
    });
}

}  // namespace posteriori
