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

constexpr std::size_t ROWS = std::size_t{1} << 17;  // at a time: memory does not grow with the table

// Some columns of a matrix, ROWS of each at a time.
struct Columns {
    Matrix<double> X;
    std::vector<double> cells, turned;

    Columns(const Matrix<double>& whole, std::size_t from, std::size_t some) : X(whole), cells(std::min(whole.n, ROWS) * some) {
        X.d = some;
        X.data = static_cast<const char*>(whole.data) + static_cast<std::ptrdiff_t>(from) * whole.column * static_cast<std::ptrdiff_t>(whole.size);
    }
    // One row; and `count` rows, column by column.
    const double* row(std::size_t r) {
        std::ptrdiff_t step;
        return X.rows(r, 1, turned, &step);
    }
    const double* read(std::size_t begin, std::size_t count, std::size_t block) {
        for (std::size_t b = 0; b < count; b += block) {
            const std::size_t some = std::min(block, count - b);
            std::ptrdiff_t step;
            const double* rows = X.rows(begin + b, some, turned, &step);
            for (std::size_t j = 0; j < X.d; ++j)
                for (std::size_t r = 0; r < some; ++r)
                    cells[j * count + b + r] = rows[static_cast<std::ptrdiff_t>(r) * step + static_cast<std::ptrdiff_t>(j)];
        }
        return cells.data();
    }
};

// The levels to begin with: some of the values tell most of them.
std::vector<int> first_levels(Columns& columns, const double* w, std::size_t limit) {
    const std::size_t n = columns.X.n, d = columns.X.d, step = std::max<std::size_t>(1, n / (2 * limit));
    std::vector<int> level(d, 0);
    if (n <= limit) return level;
    std::vector<std::vector<std::uint64_t>> some(d);
    for (std::size_t r = 0; r < n; r += step) {
        if (w && w[r] == 0.0) continue;
        const double* x = columns.row(r);
        for (std::size_t j = 0; j < d; ++j)
            if (std::isfinite(x[j])) some[j].push_back(key_of(x[j]));
    }
    for (std::size_t j = 0; j < d; ++j) {
        std::sort(some[j].begin(), some[j].end());
        some[j].erase(std::unique(some[j].begin(), some[j].end()), some[j].end());
        level[j] = level_for(some[j], 0, limit);
    }
    return level;
}

template <typename Count>
void count_values(Columns& columns, const Column& y, const double* w, std::size_t K, std::size_t limit, std::size_t block, Binning* found) {
    const std::size_t n = columns.X.n, d = columns.X.d;
    std::vector<Slots<Count>> slots;
    for (const int level : first_levels(columns, w, limit)) slots.emplace_back(K, limit, n, level);
    std::vector<int> seen(d, CLEAN);
    std::vector<std::uint32_t> classes(std::min(n, ROWS));
    for (std::size_t begin = 0; begin < n; begin += ROWS) {
        const std::size_t count = std::min(ROWS, n - begin);
        read_classes(y, begin, count, K, classes.data());
        const double* x = columns.read(begin, count, block);
        for (std::size_t j = 0; j < d; ++j, x += count)
            for (std::size_t r = 0; r < count; ++r) {
                if (!std::isfinite(x[r])) {
                    seen[j] |= std::isnan(x[r]) ? SAW_NAN : SAW_INF;
                } else if (!w) {
                    slots[j].add(key_of(x[r]), classes[r], Count{1});
                } else if (w[begin + r] > 0.0) {
                    slots[j].add(key_of(x[r]), classes[r], static_cast<Count>(w[begin + r]));
                }
            }
    }
    for (std::size_t j = 0; j < d; ++j) {
        found[j] = slots[j].found();
        found[j].seen = seen[j];
    }
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
    const std::size_t n = X.n, room = (std::size_t{1} << 23) / std::max<std::size_t>(n, 1);
    const std::size_t group = std::clamp<std::size_t>(std::min<std::size_t>(room, X.d / std::max(threads, 1)), 1, 8);
    const std::size_t block = std::max<std::size_t>(16, 4096 / std::max<std::size_t>(X.d, 1));
    parallel_for((X.d + group - 1) / group, threads, [&](std::size_t task) {
        const std::size_t from = task * group;
        Columns columns(X, from, std::min(group, X.d - from));
        if (w || n >> 32) count_values<double>(columns, y, w, K, limit, block, found.data() + from);
        else count_values<std::uint32_t>(columns, y, w, K, limit, block, found.data() + from);
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
