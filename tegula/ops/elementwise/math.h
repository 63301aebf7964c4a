#pragma once
// Functions of real numbers, element by element. Integers and booleans are converted to f32 first, unless it says otherwise.

#include "tegula/graph/tensor.h"

namespace tegula {

Tensor exp(Arg x);
Tensor exp2(Arg x);
/// exp(x) - 1, accurate near 0.
Tensor expm1(Arg x);
Tensor log(Arg x);
Tensor log2(Arg x);
Tensor log10(Arg x);
/// log(1 + x), accurate near 0.
Tensor log1p(Arg x);
Tensor sqrt(Arg x);
/// 1 / sqrt(x).
Tensor rsqrt(Arg x);
Tensor hypot(Arg a, Arg b);

Tensor sin(Arg x);
Tensor cos(Arg x);
Tensor tan(Arg x);
Tensor asin(Arg x);
Tensor acos(Arg x);
Tensor atan(Arg x);
/// The angle of the point (x, y), in (-pi, pi].
Tensor atan2(Arg y, Arg x);
Tensor sinh(Arg x);
Tensor cosh(Arg x);
Tensor tanh(Arg x);
Tensor asinh(Arg x);
Tensor acosh(Arg x);
Tensor atanh(Arg x);
Tensor deg2rad(Arg x);
Tensor rad2deg(Arg x);

Tensor erf(Arg x);
/// 1 - erf(x); loses relative accuracy where erf(x) is near 1.
Tensor erfc(Arg x);
/// The inverse of erf on (-1, 1).
Tensor erfinv(Arg x);
/// log |Gamma(x)|.
Tensor lgamma(Arg x);
/// The derivative of lgamma.
Tensor digamma(Arg x);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(Arg x);
/// The inverse of sigmoid: log(x / (1 - x)).
Tensor logit(Arg x);
/// x * log(y); 0 where x is 0, unless y is NaN.
Tensor xlogy(Arg x, Arg y);

/// Rounding keeps integers as they are. round goes to the even neighbour of a half. frac is x - trunc(x). Gradients are 0 (frac: 1).
Tensor floor(Arg x);
Tensor ceil(Arg x);
Tensor round(Arg x);
Tensor trunc(Arg x);
Tensor frac(Arg x);

/// Booleans; integers are finite.
Tensor isnan(Arg x);
Tensor isinf(Arg x);
Tensor isfinite(Arg x);
/// The replacements of nan_to_num for NaN and the infinities; by default 0 and the largest and smallest finite value of the dtype.
struct NanToNum {
  double nan = 0;
  double positive = 0;  // 0: the largest finite value
  double negative = 0;  // 0: the smallest
};
Tensor nan_to_num(Arg x, const NanToNum& replacements = {});

}  // namespace tegula
