// What members have counted, opened: tables of ln θ by back-off, and what they say of rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backoff.hpp"
#include "bits.hpp"
#include "members.hpp"
#include "threads.hpp"

namespace posteriori {

namespace {

constexpr std::size_t BLOCK = 256;

// put(place, count) of every cell of a table of `size`; whether it was one, of `whole` rows.
template <typename Put> bool read_cells(BitsIn& from, std::size_t size, std::uint64_t whole, Put&& put) {
    const auto k = static_cast<int>(from.take(PARAMETER)), l = static_cast<int>(from.take(PARAMETER));
    for (std::uint64_t place = 0; whole > 0; ++place) {
        place += from.rice(k);
        const std::uint64_t count = from.rice(l) + 1;
        if (from.short_of() || place >= size || count > whole) return false;
        put(place, count);
        whole -= count;
    }
    return !from.short_of();
}

// The ladder of a column: how many parents it has, and how many values these have.
struct Ladder {
    int top = 0;
    std::size_t wide[3] = {1, 1, 1}, contexts = 1;

    Ladder(const std::int32_t* parents, const std::int32_t* sizes) {
        for (; top < 2 && parents[top] > 0; ++top) contexts *= wide[top + 1] = sizes[parents[top] - 1];
    }
};

}  // namespace

const char* lay_out(const Counted& all, std::int64_t* starts) {
    const int d = all.d();
    std::int64_t room = 0;
    if (all.cut_ends[0] != 0 || all.cell_ends[0] != 0) return "members begin at the beginning";
    for (std::size_t t = 0; t < all.members; ++t, starts += d + 1) {
        const std::int32_t *sizes = all.sizes + t * d, *parents = all.parents + t * 2 * d;
        for (const auto* ends : {all.cut_ends, all.cell_ends})
            if (ends[t + 1] < ends[t] || ends[t + 1] > ends[all.members]) return "members lie end to end";
        std::int64_t cut = all.cut_ends[t];
        for (int j = 0; j < d; ++j) {
            if (sizes[j] < 1 || sizes[j] > all.codes[j]) return "a column has some of its codes as values";
            if (sizes[j] == all.codes[j]) continue;
            if (sizes[j] - 1 > all.cut_ends[t + 1] - cut) return "a value begins with a code";
            for (std::int32_t v = 1, before = 0; v < sizes[j]; ++v, before = all.cuts[cut++])
                if (all.cuts[cut] <= before || all.cuts[cut] >= all.codes[j]) return "a value begins with a code after that before it";
        }
        if (cut != all.cut_ends[t + 1]) return "a value begins with a code";
        BitsIn from(all.cells + all.cell_ends[t], all.cells + all.cell_ends[t + 1]);
        starts[0] = room;
        for (int j = 0; j < d; ++j) {
            double rung = static_cast<double>(sizes[j]) * all.K, own = rung;
            int top = 0;
            for (int l = 0; l < 2; ++l) {
                const std::int32_t parent = parents[2 * j + l];
                if (parent < 0 || parent > d || (parent > 0 && top < l)) return "no such parent";
                if (parent > 0) ++top, own += rung *= sizes[parent - 1];
            }
            if (!(static_cast<double>(room) + own < 0x1p40)) return "tables are too large";
            starts[j + 1] = room += static_cast<std::int64_t>(own);
            for (int l = 0; l <= top; ++l)
                if (from.take(PARAMETER) >= RUNGS) return "no such concentration";
            if (!read_cells(from, static_cast<std::size_t>(rung), all.whole, [](std::size_t, std::uint64_t) {}))
                return "the counts of a column are those of the rows";
        }
        if (!from.done()) return "cells lie end to end";
    }
    return nullptr;
}

namespace {

// The tables of column after column of one member.
void open_member(const Counted& all, std::size_t t, const std::int64_t* starts, float* tables) {
    const std::size_t K = all.K;
    const std::int32_t* sizes = all.sizes + t * all.d();
    BitsIn from(all.cells + all.cell_ends[t], all.cells + all.cell_ends[t + 1]);
    std::vector<double> n[3], N(K), theta, below;
    for (int j = 0; j < all.d(); ++j) {
        const std::size_t V = sizes[j], step = V * K;  // numbers of a context
        const Ladder ladder(all.parents + (t * all.d() + j) * 2, sizes);
        double c[3] = {};
        for (int l = 0; l <= ladder.top; ++l) c[l] = concentration(static_cast<int>(from.take(PARAMETER)));
        auto& held = n[ladder.top];
        held.assign(ladder.contexts * step, 0.0);
        read_cells(from, held.size(), all.whole, [&](std::size_t at, std::uint64_t count) { held[at] = static_cast<double>(count); });
        for (int l = ladder.top; l > 0; --l) {  // a rung below has counted the same rows
            n[l - 1].assign(n[l].size() / ladder.wide[l], 0.0);
            for (std::size_t u = 0; u * step < n[l].size(); ++u)
                for (std::size_t x = 0; x < step; ++x) n[l - 1][u / ladder.wide[l] * step + x] += n[l][u * step + x];
        }
        below.assign(step, 1.0 / static_cast<double>(V));
        float *out = tables + starts[j], *under = nullptr;
        for (int l = 0; l <= ladder.top; ++l) {
            theta.resize(n[l].size());
            for (std::size_t u = 0; u * step < n[l].size(); ++u) {
                const std::size_t base = u / ladder.wide[l] * step;
                const double* own = n[l].data() + u * step;
                std::fill(N.begin(), N.end(), 0.0);
                for (std::size_t x = 0; x < step; x += K)
                    for (std::size_t k = 0; k < K; ++k) N[k] += own[x + k];
                for (std::size_t x = 0; x < step; x += K)
                    for (std::size_t k = 0; k < K; ++k) {
                        const double p = theta[u * step + x + k] = leaned(own[x + k], N[k], c[l], below[base + x + k]);
                        // without rows p is what the rung below says, to the last bit: c is a power of two
                        out[u * step + x + k] = under && N[k] == 0 ? under[base + x + k] : std::log(static_cast<float>(p));
                    }
            }
            under = out, out += n[l].size(), below.swap(theta);
        }
    }
}

}  // namespace

void open_members(const Counted& all, const std::int64_t* starts, std::uint16_t* values, float* tables, int threads) {
    const std::size_t d = all.d(), width = std::accumulate(all.codes.begin(), all.codes.end(), std::size_t{0});
    parallel_for(all.members, threads, [&](std::size_t t) {
        const std::uint16_t* cut = all.cuts + all.cut_ends[t];
        std::uint16_t* value = values + t * width;
        for (std::size_t j = 0; j < d; ++j) {
            const std::int32_t V = all.sizes[t * d + j];
            const bool whole = V == all.codes[j];
            for (std::int32_t code = 0, v = 0; code < all.codes[j]; ++code) {
                if (code > 0 && (whole || (v + 1 < V && *cut == code))) v += 1, cut += !whole;
                *value++ = static_cast<std::uint16_t>(v);
            }
        }
        open_member(all, t, starts + t * (d + 1), tables);
    });
}

template <typename C>
void member_sums(const CodedRows<C>& rows, const std::int64_t* first, const Members& all, Bags bags, double* out, std::uint32_t* used,
                 int threads) {
    const std::size_t d = rows.sizes.size(), n = rows.n, words = (n + 63) / 64, K = all.K;
    const std::size_t block = std::clamp<std::size_t>(n / std::max(1, threads) + 1, BLOCK, 8 * BLOCK);  // many read what a member has, while it is near
    parallel_for((n + block - 1) / block, threads, [&](std::size_t b) {
        const std::size_t from = b * block, to = std::min(n, from + block);
        std::vector<C> codes((to - from) * d);
        for (std::size_t j = 0; j < d; ++j) {
            const C* column = rows.column(static_cast<int>(j));
            for (std::size_t r = from; r < to; ++r) codes[(r - from) * d + j] = column[r];
        }
        std::vector<std::uint16_t> v(d);
        std::vector<float> s(K);
        for (std::size_t t = 0; t < all.members; ++t) {
            const std::uint16_t* values = all.values + t * static_cast<std::size_t>(first[d]);
            const std::int32_t *sizes = all.sizes + t * d, *parents = all.parents + t * 2 * d;
            const std::int64_t* starts = all.starts + t * (d + 1);
            for (std::size_t r = from; r < to; ++r) {
                if (bags && (bags[t * words + r / 64] >> (r % 64) & 1)) continue;
                const C* row = codes.data() + (r - from) * d;
                for (std::size_t j = 0; j < d; ++j) v[j] = static_cast<std::int32_t>(row[j]) < rows.sizes[j] ? values[first[j] + row[j]] : NONE;
                std::copy(all.prior + t * K, all.prior + (t + 1) * K, s.begin());
                for (std::size_t i = 0; i < d; ++i) {
                    if (v[i] == NONE) continue;
                    const std::size_t V = sizes[i];
                    std::size_t table = starts[i], context = 0, contexts = 1;
                    for (int l = 0; l < 2; ++l) {
                        const std::int32_t p = parents[2 * i + l];
                        if (p < 0 || v[p] == NONE) break;
                        table += contexts * V * K;
                        contexts *= sizes[p], context = context * sizes[p] + v[p];
                    }
                    const float* cell = all.tables + table + (context * V + v[i]) * K;
                    for (std::size_t k = 0; k < K; ++k) s[k] += cell[k];
                }
                const float top = *std::max_element(s.begin(), s.end());
                double whole = 0;
                for (auto& x : s) whole += x = std::exp(x - top);
                for (std::size_t k = 0; k < K; ++k) out[r * K + k] += s[k] / whole;
                ++used[r];
            }
        }
    });
}

template void member_sums<std::uint8_t>(const CodedRows<std::uint8_t>&, const std::int64_t*, const Members&, Bags, double*, std::uint32_t*, int);
template void member_sums<std::uint16_t>(const CodedRows<std::uint16_t>&, const std::int64_t*, const Members&, Bags, double*, std::uint32_t*, int);

}  // namespace posteriori
