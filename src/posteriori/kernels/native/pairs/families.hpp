// Scores and tests of families: how well parents explain a child, for many sets of parents that differ in one.
//
// Codes are a matrix [column][row]. As a child, column j has values 0 .. sizes[j]-1; as a parent, 0 .. states[j]-1, which may
// be one more, for missing. Any other code leaves the row out. N[π, x] are the rows (or weights) with the parents in
// configuration π and the child at x; r values of the child, q configurations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace posteriori {

enum class FamilyScore { penalised, bdeu, k2, fnml };

struct Scoring {
    FamilyScore kind;
    double number;          // of `penalised` the price of a parameter, of `bdeu` the equivalent sample size
    const double* x_log_x;  // N ln N for N = 0 .. most, or null: counts may be broken
    const double* regret;   // of `fnml`, for N = 0 .. most
    double most;            // no count is larger
};

template <typename C> struct FamilyData {
    const C* codes;
    std::size_t n;
    std::vector<std::uint32_t> sizes, states;
    const double* weights;      // or null
    const std::uint64_t* bits;  // of `value_bitmaps`, or null
    std::vector<bool> full{};   // columns all of whose codes are states; empty where nobody has looked

    const C* column(int j) const { return codes + static_cast<std::size_t>(j) * n; }
    bool is_full(int j) const {
        if (!full.empty()) return full[static_cast<std::size_t>(j)];
        const C* x = column(j);
        C top = 0;
        for (std::size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
        return top < states[static_cast<std::size_t>(j)];
    }
};

// Columns of so few states have a bitmap for each, one after the other; a bitmap has bit r set where row r has that code.
constexpr std::uint32_t kNarrow = 16;
std::size_t bitmap_words(std::size_t n);
std::size_t bitmap_count(const std::vector<std::uint32_t>& states);
template <typename C>
void value_bitmaps(const C* codes, std::size_t n, const std::vector<std::uint32_t>& states, std::uint64_t* out, int threads);

// out[0] is the score of the child with `parents`; out[1 + k] with candidates[k] added to them, or taken from them if it is
// one. Each is summed in the order of the configurations, whatever the number of threads. Unless it is `own` that is asked,
// out[0] is left as it is.
template <typename C>
void toggle_scores(const FamilyData<C>& data, int child, const std::vector<int>& parents, const std::vector<int>& candidates,
                   const Scoring& scoring, double* out, int threads, bool own = true);

// For many calls: looks once which columns are full.
template <typename C> void look_at_columns(FamilyData<C>& data, int threads);

// out[2k] is G² = 2 Σ N ln N·N[π]/(N[π, x]·N[π, z]) of x and candidates[k] given π, out[2k + 1] its degrees of freedom by
// the values that occur, Σ_π (values of x − 1)(values of z − 1).
template <typename C>
void g_tests(const FamilyData<C>& data, int x, const std::vector<int>& given, const std::vector<int>& candidates,
             const Scoring& logs, double* out, int threads);

}  // namespace posteriori
