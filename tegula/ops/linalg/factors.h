#pragma once
// Matrices as products of simpler ones: LU, Cholesky, QR. The last two axes are rows and columns, axes in front are a batch. f32 or f64; halves compute in f32. On the
// CPU by blocks of our own; on a GPU by cuSOLVER where it is found, else on the host. `tegula info` names the library.

#include "tegula/graph/tensor.h"

namespace tegula {

/// P A = L U with the greatest pivot of each column. A singular matrix has a 0 on the diagonal of U, and is no error here.
struct LUFactors {
  Tensor packed;  // (…, m, n): U, and below its diagonal L, whose own diagonal is 1
  Tensor order;  // (…, m) i64: row i of L U is row order[i] of A
  Tensor exchanges;  // (…) i32: how many pairs of rows changed places
};
LUFactors lu_factor(Arg a);
/// The same as three matrices: a = p l u, with p (…, m, m) a permutation, l (…, m, k), u (…, k, n), k = min(m, n).
struct LUParts {
  Tensor p, l, u;
};
LUParts lu(Arg a);

struct LUSolveOptions {
  bool transposed = false;  // aᵀ x = b
};
/// x with a x = b, of a square matrix's factors: b (…, n, m), or (…, n). When it is computed, an Error names a singular matrix by its number in the batch.
Tensor lu_solve(const LUFactors& factors, Arg b, const LUSolveOptions& options = {});

/// l (…, n, n), lower triangular, with l lᵀ = a: a symmetric and positive definite; its lower triangle is read. When it is computed, an Error names a matrix that is
/// not positive definite. The gradient is symmetric: that of both triangles changed together.
Tensor cholesky(Arg a);
/// x with l lᵀ x = b.
Tensor cholesky_solve(Arg l, Arg b);

/// a (…, m, n) = q r: q (…, m, k) with orthonormal columns, r (…, k, n) upper triangular, k = min(m, n). Householder's reflectors: the diagonal of r may be negative.
/// The gradient asks for independent first k columns.
struct QRFactors {
  Tensor q, r;
};
struct QROptions {
  bool full = false;  // q (…, m, m), r (…, m, n); has no gradient where m > n
};
QRFactors qr(Arg a, const QROptions& options = {});

}  // namespace tegula
