#pragma once
// Arithmetic: operators and their relatives.
//
// Everywhere: shapes broadcast as in NumPy, dtypes promote as in PyTorch (see promote.h), numbers adapt to the tensors beside them.
// Throws Error when the shapes do not broadcast, or for booleans where nothing sensible is meant.

#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Sums and products of two booleans are their "or" and "and"; the difference of two booleans is refused.
Tensor operator+(Arg a, Arg b);
Tensor operator-(Arg a, Arg b);
Tensor operator*(Arg a, Arg b);
/// True division: integers give f32.
Tensor operator/(Arg a, Arg b);
/// remainder(a, b): has the sign of b, as in Python.
Tensor operator%(Arg a, Arg b);
Tensor operator-(Arg x);

Tensor& operator+=(Tensor& a, Arg b);
Tensor& operator-=(Tensor& a, Arg b);
Tensor& operator*=(Tensor& a, Arg b);
Tensor& operator/=(Tensor& a, Arg b);
/// Assigns to the Variable, which keeps its shape and dtype.
Variable& operator+=(Variable& a, Arg b);
Variable& operator-=(Variable& a, Arg b);
Variable& operator*=(Variable& a, Arg b);
Variable& operator/=(Variable& a, Arg b);

/// The quotient rounded toward minus infinity, in the operands' dtype. An integer divided by 0 gives 0.
Tensor floor_divide(Arg a, Arg b);
/// a - floor_divide(a, b) * b: has the sign of b. 0 for an integer b of 0.
Tensor remainder(Arg a, Arg b);
/// a - trunc(a / b) * b: has the sign of a, as in C.
Tensor fmod(Arg a, Arg b);
/// a to the power b. Integers stay integers (a negative exponent then gives 0, ±1 for bases ±1). Constant exponents 2, 1, 0.5 and -1 become x * x,
/// x, sqrt(x) and 1 / x.
Tensor pow(Arg a, Arg b);
Tensor square(Arg x);
Tensor reciprocal(Arg x);

Tensor abs(Arg x);
/// -1, 0 or 1; 0 for NaN.
Tensor sign(Arg x);
/// The smaller and the larger one; NaN if either is NaN. If both are equal each gets half of the gradient.
Tensor minimum(Arg a, Arg b);
Tensor maximum(Arg a, Arg b);
/// x limited to [low, high], high where low > high, NaN when x or a bound is NaN. The gradient is 1 inside and at the bounds, else 0.
Tensor clamp(Arg x, Arg low, Arg high);
/// Numbers; a missing one does not bound.
struct ClampBounds {
  std::optional<Number> low = {}, high = {};
};
/// clamp(x, {.low = 0}). Throws Error without any bound.
Tensor clamp(Arg x, const ClampBounds& bounds);
Tensor clamp_min(Arg x, Arg low);
Tensor clamp_max(Arg x, Arg high);
/// a + weight * (b - a), without overflow where the signs differ; infinite for weights between 0 and 1 where one of them is.
Tensor lerp(Arg a, Arg b, Arg weight);
/// a * b + c in floats, rounded once (IEEE 754's fusedMultiplyAdd; a half is computed in f32 and rounded when it is stored). Integers give f32.
/// Everywhere else a product is rounded before it is added to, so that it is the same whatever is computed beside it.
Tensor multiply_add(Arg a, Arg b, Arg c);

}  // namespace tegula
