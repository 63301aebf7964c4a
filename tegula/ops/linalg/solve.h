#pragma once
// Systems of linear equations, and what a matrix's factors tell of it. The last two axes are rows and columns, axes in front are a batch.

#include "tegula/graph/tensor.h"

namespace tegula {

/// Factors of less precision than the system, by which its solution is corrected.
enum class Refine : std::uint8_t {
  No,
  Single,  // a system of f64 by factors in f32
  Half,    // a system of f64 or f32 by factors of the matrix rounded to f16, each matrix divided by its largest number; sums in f32
};
struct SolveOptions {
  Refine refine = Refine::No;
};
/// x with a x = b: a (…, n, n), b (…, n, m), or b (…, n) with one axis fewer than a; axes in front broadcast. By LU with the greatest pivot of each column, in f64 or
/// f32. Throws Error for other shapes and dtypes, and, when it is computed, for a singular matrix (a pivot is 0), with its number in the batch. The gradient is that of
/// the solution (Giles, 2008): aᵀ db = dx, da = -db xᵀ, by the same factors; it differentiates again.
/// refine: the solution is corrected until the residual has the size of a rounding error, at most 30 times (LAPACK's dsgesv). If that is not reached (a
/// condition above about 1e6, of f16 500) the systems are solved in their own precision. On the CPU that costs time only then; a GPU computes both, and
/// refining saves nothing there.
Tensor solve(Arg a, Arg b, const SolveOptions& options = {});
/// a⁻¹ (…, n, n): solve(a, b) is faster and nearer where a⁻¹ b is wanted.
Tensor inverse(Arg a);

/// The determinant (…) of a (…, n, n), by LU: 1 of an empty matrix. The gradient, det a⁻ᵀ, is inf or NaN where a is singular.
Tensor det(Arg a);
/// Sign (…) and the logarithm of the size of the determinant: for those beyond the range of numbers. A singular matrix has 0 and -inf.
struct SignAndLog {
  Tensor sign, logarithm;
};
SignAndLog slogdet(Arg a);

/// x (…, n, k) with the least ‖a x - b‖₂: a (…, m, n) of full rank, b (…, m, k) or (…, m). By QR; of fewer rows than columns the x of least norm. The gradient is that
/// of its parts. For matrices that may lack in rank: matmul(pinv(a), b).
Tensor lstsq(Arg a, Arg b);

}  // namespace tegula
