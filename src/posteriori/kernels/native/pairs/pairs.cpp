#include "pairs.hpp"

#include <algorithm>
#include <memory>

#include "blocks.hpp"
#include "popcount.hpp"
#include "threads.hpp"

namespace posteriori {
namespace {

constexpr std::size_t kTile = 8;         // columns of a tile: a task is the pairs between two tiles
constexpr std::size_t kScalarRows = 2048;  // rows that a tile's columns are read at a time
#ifdef __AVX2__
constexpr std::size_t kBitmapCells = 100;  // largest S_i · S_j for which AND + popcount beats increments
#else
constexpr std::size_t kBitmapCells = 24;
#endif
constexpr std::size_t kBitmapClasses = 64;
constexpr std::uint32_t kBitmapValues = 250;         // codes and the padding must fit a byte
constexpr std::size_t kBitmapBytes = std::size_t{1} << 26;  // bitmaps that are held at a time
constexpr std::uint8_t kPadding = 255;

// The columns, and which of their pairs are counted by bitmaps.
struct Job {
    const std::vector<Column>& columns;
    const std::vector<std::uint32_t>& sizes;
    Column y;
    std::uint32_t n_classes;
    std::size_t n;
    PairWay way;
    std::vector<std::size_t> starts{};  // where the tables (i, j), j = i+1 … d-1, begin, in cells
    std::vector<std::size_t> before{};  // Σ sizes[0 … j-1]

    Job(const std::vector<Column>& c, const std::vector<std::uint32_t>& s, Column y_, std::uint32_t k, std::size_t n_,
        PairWay w)
        : columns(c), sizes(s), y(y_), n_classes(k), n(n_), way(w) {
        std::size_t after = 0, at = 0;
        for (auto size : sizes) before.push_back(after), after += size;
        for (auto size : sizes) {
            after -= size;
            starts.push_back(at);
            at += size * after;
        }
    }
    // Where the table (i, j), i < j, begins, in numbers.
    std::size_t offset(std::size_t i, std::size_t j) const {
        return (starts[i] + sizes[i] * (before[j] - before[i] - sizes[i])) * n_classes;
    }
    bool by_bitmaps(std::size_t i, std::size_t j) const {
        const std::size_t cells = std::size_t{sizes[i]} * sizes[j];
        if (way == PairWay::scalar || sizes[i] > kBitmapValues || sizes[j] > kBitmapValues) return false;
        return way == PairWay::bitmaps || (n_classes <= kBitmapClasses && n >= 512 && cells <= kBitmapCells);
    }
};

// The pairs of tiles, the costliest last tasks being small enough to share among threads.
std::vector<std::pair<std::size_t, std::size_t>> tile_pairs(std::size_t d) {
    std::vector<std::pair<std::size_t, std::size_t>> tasks;
    for (std::size_t a = 0; a < d; a += kTile)
        for (std::size_t b = a; b < d; b += kTile) tasks.emplace_back(a, b);
    return tasks;
}

// ---- increments, column-blocked ---------------------------------------------------------------------------------------

struct TileColumn {
    std::vector<std::uint32_t> codes = std::vector<std::uint32_t>(kScalarRows);
    bool missing = false;
};

void read_tile(const Job& job, std::size_t first, std::size_t begin, std::size_t rows, std::vector<TileColumn>& tile) {
    for (std::size_t j = first; j < std::min(first + kTile, job.columns.size()); ++j) {
        auto& column = tile[j - first];
        column.missing = job.sizes[j] == read_codes(job.columns[j], begin, rows, job.sizes[j], "column", j, column.codes.data());
    }
}

template <typename Cell, bool Weighted>
void increment(const TileColumn& a, const TileColumn& b, std::uint32_t size_a, std::uint32_t size_b, const std::uint32_t* y,
               std::uint32_t n_classes, std::size_t rows, const double* weights, std::ptrdiff_t weight_stride, Cell* table) {
    const std::size_t step = std::size_t{size_b} * n_classes;
    auto one = [&](std::size_t r) -> Cell {
        if constexpr (Weighted) return weights[static_cast<std::ptrdiff_t>(r) * weight_stride];
        return 1;
    };
    if (a.missing || b.missing) {
        for (std::size_t r = 0; r < rows; ++r)
            if (a.codes[r] < size_a && b.codes[r] < size_b)
                table[a.codes[r] * step + std::size_t{b.codes[r]} * n_classes + y[r]] += one(r);
    } else if (size_a * step < (std::size_t{1} << 31)) {
        const auto step32 = static_cast<std::uint32_t>(step);
        std::uint32_t cell[kScalarRows];  // computed apart from the increments, so that this loop is vectorised
        const std::uint32_t *codes_a = a.codes.data(), *codes_b = b.codes.data();
        for (std::size_t r = 0; r < rows; ++r) cell[r] = codes_a[r] * step32 + codes_b[r] * n_classes + y[r];
        for (std::size_t r = 0; r < rows; ++r) table[cell[r]] += one(r);
    } else {
        for (std::size_t r = 0; r < rows; ++r)
            table[a.codes[r] * step + std::size_t{b.codes[r]} * n_classes + y[r]] += one(r);
    }
}

template <typename Cell, bool Weighted>
void count_scalar(const Job& job, const double* weights, std::ptrdiff_t weight_stride, Cell* table, int threads) {
    const std::size_t d = job.columns.size();
    auto tasks = tile_pairs(d);
    tasks.erase(std::remove_if(tasks.begin(), tasks.end(),
                               [&](auto task) {
                                   for (std::size_t i = task.first; i < std::min(task.first + kTile, d); ++i)
                                       for (std::size_t j = std::max(task.second, i + 1); j < std::min(task.second + kTile, d); ++j)
                                           if (Weighted || !job.by_bitmaps(i, j)) return false;
                                   return true;
                               }),
                tasks.end());
    parallel_for(tasks.size(), threads, [&](std::size_t t) {
        const auto [first_a, first_b] = tasks[t];
        std::vector<TileColumn> tile_a(kTile), tile_b(first_a == first_b ? 0 : kTile);
        std::vector<std::uint32_t> y(kScalarRows);
        for (std::size_t begin = 0; begin < job.n; begin += kScalarRows) {
            const std::size_t rows = std::min(kScalarRows, job.n - begin);
            read_codes(job.y, begin, rows, job.n_classes - 1, "the class", 0, y.data());
            read_tile(job, first_a, begin, rows, tile_a);
            if (first_a != first_b) read_tile(job, first_b, begin, rows, tile_b);
            const auto& other = first_a == first_b ? tile_a : tile_b;
            for (std::size_t i = first_a; i < std::min(first_a + kTile, d); ++i)
                for (std::size_t j = std::max(first_b, i + 1); j < std::min(first_b + kTile, d); ++j)
                    if (Weighted || !job.by_bitmaps(i, j))
                        increment<Cell, Weighted>(tile_a[i - first_a], other[j - first_b], job.sizes[i], job.sizes[j], y.data(),
                                                  job.n_classes, rows,
                                                  weights + static_cast<std::ptrdiff_t>(begin) * weight_stride, weight_stride,
                                                  table + job.offset(i, j));
        }
    });
}

// One pair, one block of rows, each of which has a share in every class.
void add_shares(const TileColumn& a, const TileColumn& b, std::uint32_t size_a, std::uint32_t size_b, std::size_t K,
                std::size_t rows, const double* shares, double* table) {
    for (std::size_t r = 0; r < rows; ++r) {
        if (a.codes[r] >= size_a || b.codes[r] >= size_b) continue;
        double* to = table + (std::size_t{a.codes[r]} * size_b + b.codes[r]) * K;
        const double* share = shares + r * K;
        if (K == 2) {  // spares the loop
            to[0] += share[0];
            to[1] += share[1];
            continue;
        }
        for (std::size_t k = 0; k < K; ++k) to[k] += share[k];
    }
}

// ---- bitmaps: rows ordered by class within a chunk, one bitmap a value, AND + popcount ----------------------------------

struct Segment {
    std::size_t word, words;  // of one class within a chunk
    std::int64_t rows;
};

struct ClassOrder {
    std::vector<Segment> segments;
    std::size_t words = 0, raw_words = 0;
    bool by_mask = false;                 // by pext on bitmaps in row order; else by moving every code
    std::vector<std::uint64_t> masks, raw;
    std::vector<std::uint32_t> place;
    std::vector<std::uint8_t> sorted;

    ClassOrder(const std::uint32_t* y, std::size_t rows, std::uint32_t K, Segment* segment);
    void use(const std::uint8_t* codes);
    void bitmap(const std::uint8_t* codes, std::uint8_t value, std::uint64_t* out);
};

// Bitmaps of a span of rows. The last value of a column without missing cells needs none: its counts are what is left.
struct Bitmaps {
    const Job& job;
    std::vector<std::size_t> members;      // the columns that have bitmaps
    std::vector<std::size_t> first_value;  // of each member, among all bitmaps
    std::size_t n_values = 0, chunk_rows, chunk_words, n_chunks = 0;
    std::unique_ptr<std::uint64_t[]> bits;
    std::vector<std::int64_t> singles;     // [chunk][value][class]
    std::vector<Segment> segments;         // [chunk][class]
    std::vector<std::uint8_t> missing;     // [chunk][member]

    explicit Bitmaps(const Job& j) : job(j) {
        const std::size_t d = job.sizes.size();
        for (std::size_t i = 0; i < d; ++i) {
            bool any = false;
            for (std::size_t k = 0; k < d && !any; ++k) any = k != i && job.by_bitmaps(i, k);
            if (!any) continue;
            members.push_back(i);
            first_value.push_back(n_values);
            n_values += job.sizes[i];
        }
        const std::size_t fit = (std::size_t{1} << 21) / std::max<std::size_t>(members.size(), 1) / 256 * 256;
        chunk_rows = std::min<std::size_t>(std::max<std::size_t>(fit, 4096), 32768);  // order is 16-bit, raw codes fit L2
        chunk_words = chunk_rows / 64 + job.n_classes * kLane;
    }
    std::size_t chunks_at_a_time() const {
        return std::max<std::size_t>(1, kBitmapBytes / std::max<std::size_t>(1, n_values * chunk_words * 8));
    }
    std::uint64_t* at(std::size_t chunk, std::size_t value) { return bits.get() + (chunk * n_values + value) * chunk_words; }

    void build(std::size_t begin, std::size_t end, int threads);
    void build_chunk(std::size_t chunk, std::size_t begin, std::size_t rows);
    void count(std::int64_t* table, int threads);
    void count_pair(std::size_t chunk, std::size_t a, std::size_t b, std::int64_t* table, std::vector<std::int64_t>& cells);
};

void Bitmaps::build(std::size_t begin, std::size_t end, int threads) {
    n_chunks = (end - begin + chunk_rows - 1) / chunk_rows;
    if (!bits) bits.reset(new std::uint64_t[std::min(chunks_at_a_time(), n_chunks) * n_values * chunk_words]);
    singles.assign(n_chunks * n_values * job.n_classes, 0);
    segments.resize(n_chunks * job.n_classes);
    missing.resize(n_chunks * members.size());
    parallel_for(n_chunks, threads, [&](std::size_t c) {
        const std::size_t first = begin + c * chunk_rows;
        build_chunk(c, first, std::min(chunk_rows, end - first));
    });
}

// Where the rows of a chunk go when they are ordered by class.
ClassOrder::ClassOrder(const std::uint32_t* y, std::size_t rows, std::uint32_t K, Segment* segment) : segments(segment, segment + K) {
    for (auto& s : segments) s.rows = 0;
    for (std::size_t r = 0; r < rows; ++r) ++segments[y[r]].rows;
    for (auto& s : segments) {
        s.word = words;
        s.words = (static_cast<std::size_t>(s.rows) + 255) / 256 * kLane;
        words += s.words;
    }
    std::copy(segments.begin(), segments.end(), segment);
    raw_words = (rows + 63) / 64;
    by_mask = have_fast_pext();
    if (by_mask) {
        masks.assign(K * raw_words, 0);
        for (std::size_t r = 0; r < rows; ++r) masks[y[r] * raw_words + r / 64] |= std::uint64_t{1} << r % 64;
    } else {
        std::vector<std::size_t> next;
        for (const auto& s : segments) next.push_back(s.word * 64);
        for (std::size_t r = 0; r < rows; ++r) place.push_back(static_cast<std::uint32_t>(next[y[r]]++));
        sorted.assign(words * 64, kPadding);
    }
}

// The bitmap of one value, rows in class order; `codes` are padded to whole words.
void ClassOrder::bitmap(const std::uint8_t* codes, std::uint8_t value, std::uint64_t* out) {
    if (!by_mask) {
        for (std::size_t w = 0; w < words; ++w) out[w] = equal_bits(sorted.data() + w * 64, value);
        return;
    }
    raw.resize(raw_words);
    for (std::size_t w = 0; w < raw_words; ++w) raw[w] = equal_bits(codes + w * 64, value);
    for (std::size_t c = 0; c < segments.size(); ++c)
        if (segments[c].rows)
            compress(raw.data(), masks.data() + c * raw_words, raw_words, out + segments[c].word, segments[c].words);
}

void ClassOrder::use(const std::uint8_t* codes) {
    if (!by_mask)
        for (std::size_t r = 0; r < place.size(); ++r) sorted[place[r]] = codes[r];
}

void Bitmaps::build_chunk(std::size_t chunk, std::size_t begin, std::size_t rows) {
    const std::uint32_t K = job.n_classes;
    const std::unique_ptr<std::uint32_t[]> y(new std::uint32_t[rows]);
    read_codes(job.y, begin, rows, K - 1, "the class", 0, y.get());
    ClassOrder order(y.get(), rows, K, segments.data() + chunk * K);

    // A block of rows is read for all columns before the next, so that row-major input is read once.
    constexpr std::size_t block = 256;
    const std::unique_ptr<std::uint8_t[]> raw(new std::uint8_t[members.size() * chunk_rows]);
    std::uint8_t* has_missing = missing.data() + chunk * members.size();
    std::fill_n(has_missing, members.size(), std::uint8_t{0});
    const std::size_t d = members.size();
    auto read_column = [&](std::size_t m, std::size_t r, std::size_t n) {
        const std::uint32_t size = job.sizes[members[m]];
        has_missing[m] |= size == read_codes(job.columns[members[m]], begin + r, n, size, "column", members[m],
                                             raw.get() + m * chunk_rows + r);
    };
    auto note_codes = [&](std::size_t m, std::size_t r, std::size_t n) {  // the same checks on codes already in place
        const std::uint8_t* codes = raw.get() + m * chunk_rows + r;
        std::uint8_t most = 0;
        for (std::size_t k = 0; k < n; ++k) most = std::max(most, codes[k]);
        if (most >= job.sizes[members[m]]) read_column(m, r, n);  // says which code is out of range, or notes the missing
    };
    std::vector<std::uint8_t> square(d, 0);  // columns that begin sixteen neighbours
    for (std::size_t m = 0; m + kSide <= d;) {
        square[m] = are_neighbours([&](std::size_t k) -> const Column& { return job.columns[members[m + k]]; });
        m += square[m] ? kSide : 1;
    }
    for (std::size_t r = 0; r < rows; r += block)
        for (std::size_t m = 0; m < d;) {
            const std::size_t n = std::min(block, rows - r);
            if (!square[m] || n % kSide) {
                read_column(m, r, n);
                ++m;
                continue;
            }
            read_square(job.columns[members[m]], begin + r, n, raw.get() + m * chunk_rows + r, chunk_rows);
            for (const std::size_t end = m + kSide; m < end; ++m) note_codes(m, r, n);
        }
    for (std::size_t m = 0; m < members.size(); ++m) {
        std::uint8_t* codes = raw.get() + m * chunk_rows;
        std::fill(codes + rows, codes + (rows + 63) / 64 * 64, kPadding);
        order.use(codes);
        const std::uint32_t size = job.sizes[members[m]], told = size - !has_missing[m];
        std::int64_t* single = singles.data() + (chunk * n_values + first_value[m]) * K;
        for (std::uint32_t v = 0; v < told; ++v) {
            std::uint64_t* bitmap = at(chunk, first_value[m] + v);
            order.bitmap(codes, static_cast<std::uint8_t>(v), bitmap);
            for (std::uint32_t c = 0; c < K; ++c) {
                const auto& s = order.segments[c];
                single[v * K + c] = shared_bits(bitmap + s.word, bitmap + s.word, s.words);
            }
        }
        for (std::uint32_t c = 0; told < size && c < K; ++c) {
            single[told * K + c] = order.segments[c].rows;
            for (std::uint32_t v = 0; v < told; ++v) single[told * K + c] -= single[v * K + c];
        }
    }
}

void Bitmaps::count_pair(std::size_t chunk, std::size_t a, std::size_t b, std::int64_t* table,
                         std::vector<std::int64_t>& cells) {
    const std::uint32_t K = job.n_classes, size_a = job.sizes[members[a]], size_b = job.sizes[members[b]];
    const bool rest_a = !missing[chunk * members.size() + a], rest_b = !missing[chunk * members.size() + b];
    const std::uint32_t told_a = size_a - rest_a, told_b = size_b - rest_b;  // values that have a bitmap
    cells.resize(std::size_t{size_a} * size_b);
    for (std::uint32_t c = 0; c < K; ++c) {
        const Segment& segment = segments[chunk * K + c];
        if (!segment.rows) continue;
        const std::int64_t* single_a = singles.data() + (chunk * n_values + first_value[a]) * K + c;
        const std::int64_t* single_b = singles.data() + (chunk * n_values + first_value[b]) * K + c;
        for (std::uint32_t u = 0; u < told_a; ++u) {
            const std::uint64_t* bitmap = at(chunk, first_value[a] + u) + segment.word;
            std::int64_t rest = single_a[u * std::size_t{K}];
            for (std::uint32_t v = 0; v < told_b; ++v)
                rest -= cells[u * size_b + v] = shared_bits(bitmap, at(chunk, first_value[b] + v) + segment.word, segment.words);
            if (rest_b) cells[u * size_b + told_b] = rest;
        }
        if (rest_a)
            for (std::uint32_t v = 0; v < size_b; ++v) {
                std::int64_t rest = single_b[v * std::size_t{K}];
                for (std::uint32_t u = 0; u < told_a; ++u) rest -= cells[u * size_b + v];
                cells[told_a * size_b + v] = rest;
            }
        for (std::size_t cell = 0; cell < cells.size(); ++cell) table[cell * K + c] += cells[cell];
    }
}

void Bitmaps::count(std::int64_t* table, int threads) {
    const std::size_t d = members.size();
    const auto tasks = tile_pairs(d);
    parallel_for(tasks.size(), threads, [&](std::size_t t) {
        const auto [first_a, first_b] = tasks[t];
        std::vector<std::int64_t> cells;
        for (std::size_t chunk = 0; chunk < n_chunks; ++chunk)
            for (std::size_t a = first_a; a < std::min(first_a + kTile, d); ++a)
                for (std::size_t b = std::max(first_b, a + 1); b < std::min(first_b + kTile, d); ++b)
                    if (job.by_bitmaps(members[a], members[b]))
                        count_pair(chunk, a, b, table + job.offset(members[a], members[b]), cells);
    });
}

}  // namespace

void count_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, Column y,
                 std::uint32_t n_classes, std::size_t n, std::int64_t* table, PairWay way, int threads) {
    const Job job(columns, sizes, y, n_classes, n, way);
    count_scalar<std::int64_t, false>(job, nullptr, 0, table, threads);
    Bitmaps bitmaps(job);
    if (bitmaps.members.empty()) return;
    const std::size_t step = bitmaps.chunks_at_a_time() * bitmaps.chunk_rows;
    for (std::size_t begin = 0; begin < n; begin += step) {
        bitmaps.build(begin, std::min(n, begin + step), threads);
        bitmaps.count(table, threads);
    }
}

void weigh_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, Column y,
                 std::uint32_t n_classes, std::size_t n, const double* weights, std::ptrdiff_t weight_stride, double* table,
                 int threads) {
    const Job job(columns, sizes, y, n_classes, n, PairWay::scalar);
    count_scalar<double, true>(job, weights, weight_stride, table, threads);
}

void share_pairs(const std::vector<Column>& columns, const std::vector<std::uint32_t>& sizes, std::uint32_t n_classes,
                 std::size_t n, const double* shares, double* table, int threads) {
    const Job job(columns, sizes, Column{nullptr, 0, 1}, n_classes, n, PairWay::scalar);
    const std::size_t d = columns.size(), K = n_classes;
    const auto tasks = tile_pairs(d);
    parallel_for(tasks.size(), threads, [&](std::size_t t) {
        const auto [first_a, first_b] = tasks[t];
        std::vector<TileColumn> tile_a(kTile), tile_b(first_a == first_b ? 0 : kTile);
        for (std::size_t begin = 0; begin < n; begin += kScalarRows) {
            const std::size_t rows = std::min(kScalarRows, n - begin);
            read_tile(job, first_a, begin, rows, tile_a);
            if (first_a != first_b) read_tile(job, first_b, begin, rows, tile_b);
            const auto& other = first_a == first_b ? tile_a : tile_b;
            for (std::size_t i = first_a; i < std::min(first_a + kTile, d); ++i)
                for (std::size_t j = std::max(first_b, i + 1); j < std::min(first_b + kTile, d); ++j)
                    add_shares(tile_a[i - first_a], other[j - first_b], sizes[i], sizes[j], K, rows, shares + begin * K,
                               table + job.offset(i, j));
        }
    });
}

}  // namespace posteriori
