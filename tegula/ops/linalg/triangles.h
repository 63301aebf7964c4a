#pragma once
// Systems whose matrix is a triangle (tril and triu: shape/join.h).

#include "tegula/graph/tensor.h"

namespace tegula {

struct TriangularOptions {
  bool upper = false;       // which triangle of t is read
  bool transposed = false;  // tᵀ x = b
  bool unit = false;        // ones on the diagonal, whatever t holds there
};
/// x (…, n, m) with t x = b: t (…, n, n) triangular, b (…, n, m), or b (…, n) with one axis fewer than t. Axes in front broadcast. f32 or f64; halves compute in
/// f32. A 0 on the diagonal divides: inf or NaN, as torch.linalg.solve_triangular. By blocks of our own, on a GPU by cuBLAS. Gradients of both.
Tensor triangular_solve(Arg t, Arg b, const TriangularOptions& options = {});

}  // namespace tegula
