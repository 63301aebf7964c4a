#pragma once
// Matrices for the tests of linear algebra.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/support/message.h"

namespace tegula::test {

/// The greatest size of an element; 0 of none.
inline double most(const Tensor& x) { return x.numel() == 0 ? 0 : max(abs(cast(x, f64))).item<double>(); }
inline double apart(const Tensor& x, const Tensor& y) {
  EXPECT_EQ(x.shape(), y.shape());
  return most(cast(x, f64) - cast(y, f64));
}
inline Tensor draw(const Shape& shape, DType dtype = f64) { return normal(shape, 0, 1, {.dtype = dtype}); }
inline Tensor identity(std::int64_t n, DType dtype = f64) { return eye(n, std::nullopt, dtype); }
/// Symmetric, positive definite, its condition moderate.
inline Tensor positive(Shape shape, DType dtype = f64) {
  const Tensor x = draw(shape, dtype);
  return matmul(x, transpose(x)) / static_cast<double>(shape.back()) + identity(shape.back(), dtype);
}
inline double digits(DType dtype) { return dtype == f64 ? 1e-12 : 1e-4; }

}  // namespace tegula::test
