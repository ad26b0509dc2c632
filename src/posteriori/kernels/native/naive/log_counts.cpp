// ln(N' + α) − below over whole tables of counts, with a logarithm of our own; and sums of columns that lose no digits.
// Rows of K numbers are read four at a time, as K vectors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "naive.hpp"
#include "threads.hpp"
#include "vec_math.hpp"

namespace posteriori {
namespace {

// out = ln x − below, vectors of a group of four rows; apart from everything else, so that all constants stay in registers.
// Tables of words are nearly empty: sixteen equal numbers have one logarithm, often that of the sixteen before.
__attribute__((noinline)) void log_group(const double* x, const Doubles* below, std::size_t count, double* out) {
    Doubles last = all4(1.0), log = Doubles{};
    std::size_t v = 0;
    for (; v + 4 <= count; v += 4) {
        const Doubles first = all4(x[4 * v]);
        Longs odd{};
        for (std::size_t i = 0; i < 4; ++i) odd |= load4(x + 4 * (v + i)) != first;
        if (odd[0] | odd[1] | odd[2] | odd[3]) {
            for (std::size_t i = 0; i < 4; ++i) store4(out + 4 * (v + i), log4(load4(x + 4 * (v + i))) - below[v + i]);
            continue;
        }
        if (first[0] != last[0]) {
            last = first;
            log = log4(first);
        }
        for (std::size_t i = 0; i < 4; ++i) store4(out + 4 * (v + i), log - below[v + i]);
    }
    for (; v < count; ++v) store4(out + 4 * v, log4(load4(x + 4 * v)) - below[v]);
}

bool is_normal(const double* x, std::size_t vectors) {
    Doubles least = load4(x), most = least;
    for (std::size_t v = 1; v < vectors; ++v) {
        const Doubles four = load4(x + 4 * v);
        least = four < least ? four : least;
        most = four > most ? four : most;
    }
    bool normal = true;
    for (int i = 0; i < 4; ++i)
        normal &= least[i] >= std::numeric_limits<double>::min() && most[i] <= std::numeric_limits<double>::max();
    return normal;
}

constexpr std::size_t ROOM = 2048;  // numbers at a time, if four rows do not have more

template <typename T> class Logs {
  public:
    Logs(const Parts<T>& N_, std::size_t K_)
        : most(std::max<std::size_t>(ROOM / K_ / 4, 1) * 4), N(N_), K(K_), part(most * K), below(most / 4 * K) {}

    const std::size_t most;  // rows at a time
    bool finite = true;

    void read(const double* row, std::size_t rows) {  // what is below, as often as there are rows
        for (std::size_t r = 0; r < std::min(most, (rows + 3) / 4 * 4); ++r) std::copy_n(row, K, reinterpret_cast<double*>(below.data()) + r * K);
        for (std::size_t k = 0; k < K; ++k) finite &= std::isfinite(row[k]);
    }

    void write(std::size_t row, std::size_t rows, double* out) {
        write_logs(row, rows, out);
        if (N.others)
            for (std::size_t i = 0; i < rows * K; ++i) out[i] = -out[i];
        if (N.less)
            for (std::size_t i = 0; i < rows * K; ++i) out[i] -= N.less[row * K + i];
    }

  private:
    void write_logs(std::size_t row, std::size_t rows, double* out) {
        fill(row, rows);
        const std::size_t count = rows * K, whole = count / 4;
        std::fill_n(part.data() + count, (4 - count % 4) % 4, 1.0);
        if (is_normal(part.data(), (count + 3) / 4)) {
            log_group(part.data(), below.data(), whole, out);
            double last[4];
            if (count % 4) log_group(&part[4 * whole], &below[whole], 1, last);
            std::copy_n(last, count % 4, out + 4 * whole);
            return;
        }
        const double* less = reinterpret_cast<const double*>(below.data());
        for (std::size_t i = 0; i < count; ++i) {
            out[i] = std::log(part[i]) - less[i];
            finite &= std::isfinite(out[i]);
        }
    }

    void fill(std::size_t row, std::size_t rows) {
        const T* from = N.counts + row * K;
        if (N.one_alpha && !N.others && !N.by_class) {
            for (std::size_t i = 0; i < rows * K; ++i) part[i] = static_cast<double>(from[i]) + N.alpha[0];
            return;
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const double alpha = N.alpha[N.one_alpha ? 0 : row + r];
            double* to = &part[r * K];
            for (std::size_t k = 0; k < K; ++k) to[k] = static_cast<double>(from[r * K + k]);
            if (N.others) {
                double sum = 0.0;
                for (std::size_t k = 0; k < K; ++k) sum += to[k];
                for (std::size_t k = 0; k < K; ++k) to[k] = sum - to[k];
            }
            if (N.by_class)
                for (std::size_t k = 0; k < K; ++k) to[k] = N.by_class[k] - to[k];
            for (std::size_t k = 0; k < K; ++k) to[k] += alpha;
        }
    }

    const Parts<T>& N;
    const std::size_t K;
    std::vector<double> part;
    std::vector<Doubles> below;
};

}  // namespace

void log_all(double* x, std::size_t n) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) store4(x + i, log4(load4(x + i)));
    double rest[4] = {1.0, 1.0, 1.0, 1.0};
    std::copy(x + i, x + n, rest);
    store4(rest, log4(load4(rest)));
    std::copy_n(rest, n - i, x + i);
}

template <typename T>
bool log_counts(const Parts<T>& N, std::size_t K, const std::int64_t* offsets, std::size_t scopes, const double* below,
                double* out, int threads) {
    const auto rows = static_cast<std::size_t>(offsets[scopes]), share = std::max<std::size_t>(1, 65536 / K);
    std::vector<char> finite((rows + share - 1) / share, 1);
    parallel_for(finite.size(), threads, [&](std::size_t t) {
        Logs<T> logs(N, K);
        std::size_t row = t * share;
        const std::size_t last = std::min(rows, row + share);
        const auto* scope = std::upper_bound(offsets, offsets + scopes, static_cast<std::int64_t>(row)) - 1;
        for (; row < last; ++scope) {
            const std::size_t end = std::min(last, static_cast<std::size_t>(scope[1]));
            if (row < end) logs.read(below + static_cast<std::size_t>(scope - offsets) * K, end - row);
            for (std::size_t count; row < end; row += count) {
                count = std::min(logs.most, end - row);
                logs.write(row, count, out + row * K);
            }
        }
        finite[t] = logs.finite;
    });
    return std::all_of(finite.begin(), finite.end(), [](char f) { return f; });
}

template bool log_counts<double>(const Parts<double>&, std::size_t, const std::int64_t*, std::size_t, const double*, double*,
                                 int);
template bool log_counts<std::int64_t>(const Parts<std::int64_t>&, std::size_t, const std::int64_t*, std::size_t,
                                       const double*, double*, int);

// Each sum is kept with what its rounding lost, in blocks of rows that do not depend on the threads.
void column_sums(const double* x, std::size_t rows, std::size_t K, double* high, double* low, int threads) {
    constexpr std::size_t BLOCK = 4096;
    const std::size_t blocks = (rows + BLOCK - 1) / BLOCK;
    std::vector<Doubles> sums(blocks * 2 * K, Doubles{});  // of each block: four partial sums of every column, and what they lost
    auto add = [](auto term, auto& sum, auto& lost) {
        const auto now = sum + term, back = now - sum;
        lost += (sum - (now - back)) + (term - back);
        sum = now;
    };
    parallel_for(blocks, threads, [&](std::size_t b) {
        Doubles *sum = sums.data() + b * 2 * K, *lost = sum + K;
        const std::size_t end = std::min(rows, (b + 1) * BLOCK);
        std::size_t r = b * BLOCK;
        for (; r + 4 <= end; r += 4)
            for (std::size_t k = 0; k < K; ++k) add(load4(x + r * K + 4 * k), sum[k], lost[k]);
        for (std::size_t i = r * K; i < end * K; ++i)
            add(x[i], reinterpret_cast<double*>(sum)[i - r * K], reinterpret_cast<double*>(lost)[i - r * K]);
    });
    for (std::size_t k = 0; k < K; ++k) {
        double sum = 0.0, lost = 0.0;
        for (std::size_t b = 0; b < blocks; ++b)
            for (std::size_t r = 0; r < 4; ++r) {
                const double* part = reinterpret_cast<const double*>(sums.data() + b * 2 * K) + r * K + k;
                add(part[0], sum, lost);
                lost += part[4 * K];
            }
        high[k] = std::isfinite(sum) ? sum + lost : sum;  // infinity loses nothing
        low[k] = std::isfinite(sum) ? lost - (high[k] - sum) : 0.0;
    }
}

}  // namespace posteriori
