#pragma once
// Arithmetic of complex matrices as two real ones. Internal to ops/.

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/linalg/solve.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {

struct Pairs {
  Tensor re, im;
  Pairs adjoint() const { return {transpose(re), -transpose(im)}; }
};

inline Pairs operator+(const Pairs& a, const Pairs& b) { return {a.re + b.re, a.im + b.im}; }
inline Pairs operator-(const Pairs& a, const Pairs& b) { return {a.re - b.re, a.im - b.im}; }
inline Pairs operator/(const Pairs& a, const Pairs& b) {
  const Tensor size = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}
inline Pairs matmul(const Pairs& a, const Pairs& b) {
  return {tegula::matmul(a.re, b.re) - tegula::matmul(a.im, b.im), tegula::matmul(a.re, b.im) + tegula::matmul(a.im, b.re)};
}
/// X with A X = B, as the real system of twice the size.
inline Pairs solve(const Pairs& a, const Pairs& b) {
  const std::int64_t n = a.re.size(-1);
  const Tensor system = concat({concat({a.re, -a.im}, -1), concat({a.im, a.re}, -1)}, -2);
  const Tensor x = tegula::solve(system, concat({b.re, b.im}, -2));
  return {slice(x, -2, {0, n}), slice(x, -2, {n, {}})};
}

}  // namespace tegula::ops
