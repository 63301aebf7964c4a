#pragma once
// Eigenvalues and singular values. The last two axes are rows and columns, axes in front are a batch. f32 or f64; halves compute in f32. svd and eig by LAPACK where it is
// installed, else by loops of our own, as eigh is; on a GPU by cuSOLVER where it is found, else on the host. Signs and phases of vectors are those of the library: only what
// does not depend on them has a meaning, and a gradient. NaN or inf anywhere in a matrix make all of its results NaN (by cuSOLVER perhaps the
// Error of an iteration that came to no end).

#include "tegula/graph/tensor.h"

namespace tegula {

/// a (…, m, n) = u diag(values) vᵀ: u (…, m, k) and v (…, n, k) with orthonormal columns, values (…, k) >= 0 descending, k = min(m, n). The gradient through u or v
/// asks for distinct values, and of a matrix that is not square for values above 0; that of the values alone for neither.
struct SVDFactors {
  Tensor u, values, v;
};
struct SVDOptions {
  bool full = false;  // u (…, m, m), v (…, n, n); has no gradient through the larger of the two where m ≠ n
};
SVDFactors svd(Arg a, const SVDOptions& options = {});
/// The values alone: faster.
Tensor svdvals(Arg a);

/// a (…, n, n) symmetric, of which the lower triangle is read: a vectors = vectors diag(values), values (…, n) ascending, vectors (…, n, n) orthonormal columns. The
/// gradient is symmetric; through the vectors it asks for distinct values.
struct EigenFactors {
  Tensor values, vectors;
};
EigenFactors eigh(Arg a);
/// a x = λ b x with b symmetric and positive definite: vectorsᵀ b vectors = I. By b's Cholesky factor.
EigenFactors eigh(Arg a, Arg b);
Tensor eigvalsh(Arg a);

/// Any a (…, n, n). No complex dtype exists: values (…, n, 2) and vectors (…, n, n, 2) are pairs of real and imaginary parts in a last axis, vectors as
/// columns: column j, vectors[…, :, j, :], of norm 1, belongs to value j; conjugate pairs stand side by side. The order is the library's. The gradient asks for
/// distinct values; of a defective matrix it is inf or NaN.
EigenFactors eig(Arg a);
/// The values (…, n, 2) alone.
Tensor eigvals(Arg a);

}  // namespace tegula
