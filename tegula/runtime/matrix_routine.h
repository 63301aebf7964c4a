#pragma once
// Routines of linear algebra, as calls: factors of matrices, eigenvalues, systems with a triangle.

#include <cstdint>

#include "tegula/core/dtype.h"

namespace tegula::runtime {

enum class Routine : std::uint8_t { LU, Cholesky, TriangularSolve, QR, SymmetricEigen, Eigen, SVD };

/// One routine over `batch` matrices of f32 or f64. Everything is dense; a matrix lies by columns where it says so, as LAPACK has it, else by rows.
/// n = columns, m = rows, k = min(m, n). A state (i32, one of each matrix) is 0, or a number above it where the routine came to no end.
///   LU: (a by columns) -> (lu by columns, order i64 (batch, m), exchanges i32 (batch)). Row i of L·U is row order[i] of a; L has ones on its diagonal,
///     which are not stored. After an odd number of exchanges the order is an odd permutation. A column without a pivot leaves a 0 in U.
///   Cholesky (n, n): (a, whose lower triangle is read) -> (l, state). Above the diagonal of l stands anything.
///   TriangularSolve: (t (n, n), b (n, right)) -> x with op(t) x = b: the triangle that `upper` says, transposed or not, with ones on its diagonal
///     (unit) or what is stored. Divides by a 0 on the diagonal.
///   QR: (a by columns) -> (q by columns (m, k), or (m, m) if `full`; r by columns (k, n), or (m, n) if `full`). Below the diagonal of r stands anything.
///   SymmetricEigen (n, n): (a, whose lower triangle is read) -> (values (batch, n), ascending; vectors by columns; state).
///   Eigen (n, n): (a by columns) -> (values (batch, n, 2), vectors (batch, n of them, n, 2), state): pairs of real and imaginary parts, each vector of norm 1.
///   SVD (m >= n): (a by columns) -> (u by columns (m, n), or (m, m) if `full`; values (batch, n), descending; v (n, n) by rows; state).
/// Without `vectors` the last three give values and state alone: the buffers of the others are null.
struct MatrixRoutine {
  Routine routine = Routine::LU;
  DType dtype = DType::f32;
  std::int64_t batch = 1, rows = 0, columns = 0;
  std::int64_t right = 0;  // TriangularSolve: columns of b
  bool upper = false, transposed = false, unit = false;  // TriangularSolve
  bool full = false;  // QR, SVD
  bool vectors = true;  // SymmetricEigen, Eigen, SVD
  bool operator==(const MatrixRoutine&) const = default;

  std::int64_t least() const { return rows < columns ? rows : columns; }
};

}  // namespace tegula::runtime
