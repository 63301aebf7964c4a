#pragma once
// Products with matrices that have few neighbouring elements in each row: what resizing along an axis is.

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// The weight of an element so far away (Keys, "Cubic convolution interpolation for digital image processing", 1981, equation 15); 0 from 2 on.
Tensor cubic(const Tensor& distance, double a);

/// A matrix (K, L): row k has weight[k, t] in column first[k] + t, and 0 elsewhere. Columns outside of the L, and weights of 0,
/// are not multiplied, so that an infinity there does not become NaN.
struct Band {
  Tensor first;  // (K) i64
  Tensor weight;  // (K, T)
};

/// y[…, k, …] = Σ_t weight[k, t] * x[…, first[k] + t, …] along `axis`; x and the weights of one dtype, f32 or f64. `transposed` is the transposed
/// matrix (L, K), which the gradient is multiplied by: sums in a fixed order, without scattering.
Tensor resample(const Tensor& x, int axis, const Band& matrix, const Band& transposed, const Line& where);

}  // namespace tegula::ops
