#pragma once
// Systems of linear equations.

#include "tegula/graph/tensor.h"

namespace tegula {

/// x with a x = b: a (…, n, n), b (…, n, m), or b (…, n) with one axis fewer than a; the axes in front are equal. By Gauss and Jordan with the greatest pivot of
/// each column, in f64 or f32, n steps over all of a and b: for small n, and many systems at once. Throws Error for other shapes and dtypes, and, when
/// it is computed, for a matrix that is singular (a pivot is 0). The gradient is that of the solution (Giles, 2008): aᵀ db = dx, da = -db xᵀ.
Tensor solve(Arg a, Arg b);
/// a⁻¹ (…, n, n): solve(a, b) is faster and nearer where a⁻¹ b is wanted.
Tensor inverse(Arg a);

}  // namespace tegula
