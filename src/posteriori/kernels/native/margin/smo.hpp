// Sequential minimal optimisation on a block of variables whose kernel values are all at hand.
//
//   min ½βᵀKβ − pᵀβ   with Σβ fixed and low ≤ β ≤ high;   v = p − Kβ is minus the gradient.
//
// up = {β_i < high_i}, down = {β_i > low_i}. β is optimal when max_up v ≤ min_down v; the difference is the gap.
#pragma once
#include <cstddef>
#include <cstdint>

namespace posteriori {

struct SmoEnd {
    std::size_t steps;  // pairs moved
    double gap;         // max_up v − min_down v when it stopped
};

// Moves pairs (i, j) of second-order choice (Fan, Chen and Lin 2005) until gap ≤ tol or max_steps; β and v change in place.
// K_ij is K[i·stride + j]; stride is at least q rounded up to ALIGNED, and what lies beyond column q is finite.
// The places of the best are kept in lanes of T beside their values: q is at most the largest run of integers that T holds.
constexpr std::size_t ALIGNED = 8;
template <typename T> constexpr std::size_t MOST_IN_LANES = std::size_t{1} << (sizeof(T) == 4 ? 24 : 53);
template <typename T>
SmoEnd smo_block(const T* K, std::size_t q, std::size_t stride, const double* low, const double* high, double* beta,
                 double* v, double tol, std::size_t max_steps);

// Many problems over the rows of one matrix: variable i of machine k, starts[k] ≤ i < starts[k + 1], has row rows[i] of K.
struct Machines {
    std::size_t count;
    const std::int64_t *starts, *rows;
    const double *p, *low, *high;
};
struct MachineEnd {
    double steps, gap, b, energy, drift;  // b: the intercept; energy: βᵀKβ = Σβ(p − v); drift: how far v may be from p − Kβ
};

// Solves each from β = 0, as `smo_block` does, until its gap is under tol or it has taken max_steps.
template <typename T>
void smo_machines(const T* K, std::size_t n, std::size_t stride, const Machines& machines, double tol, std::size_t max_steps,
                  double* beta, double* v, MachineEnd* ends, int threads);

// v[j] −= Σ_r step[r] · rows[slot[r]·stride + j]
template <typename T>
void subtract_rows(const T* rows, std::size_t stride, const long long* slot, const double* step, std::size_t m, double* v,
                   std::size_t n, int threads);

}  // namespace posteriori
