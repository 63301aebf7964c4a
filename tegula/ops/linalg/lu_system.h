#pragma once
// Systems by LU, without checks of shapes. Internal to ops/.

#include "tegula/ops/linalg/factors.h"

namespace tegula::ops {

/// The LU factors of a (…, m, n) in f32 or f64.
LUFactors factors_of(const Tensor& a, const Line& where);
/// x with a x = b, or aᵀ x = b.
Tensor by_factors(const Tensor& packed, const Tensor& order, const Tensor& b, bool transposed);
/// x, or an Error in the name of `op` when U has a 0 on its diagonal.
Tensor not_singular(std::string_view op, const Tensor& x, const Tensor& packed, const Line& where);

}  // namespace tegula::ops
