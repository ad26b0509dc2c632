// Brute force for the Euclidean metric: blocked products in float find who may be near, doubles say who is.
#pragma once
#include "kdtree.hpp"

namespace posteriori::brute {

// The points prepared for products: centred, in float, sixteen side by side (blocks, d, 16), and half their squared norms.
struct Panel {
    std::vector<float> blocks;  // (blocks, d, 16)
    std::vector<float> half;    // (blocks, 16) ½‖x‖²; infinite where there is no point
    std::vector<double> centre; // (d)
    double unit = 1;            // float = (x − centre)·unit, at most one in size
    float largest = 0;          // largest ‖x‖ of the panel
};

template <typename T>
Panel panel(const T* X, std::int64_t n, int d, const T* lo, const T* hi, int threads);

// The k nearest of every row of Q among the rows of X (n × d, m × d), by distance and then by id.
template <typename T>
void nearest(const T* X, std::int64_t n, int d, const float* blocks, const float* half, const double* centre,
             double unit, float largest, const T* Q, std::int64_t m, int k, const std::int32_t* skip,
             const kdtree::Ask& ask, T* distance, std::int64_t* index);

}  // namespace posteriori::brute
