#pragma once
// Running totals along an axis. The result has x's shape; integers and booleans give i64.

#include "tegula/graph/tensor.h"

namespace tegula {

/// y_i = x_0 + … + x_i
Tensor cumsum(Arg x, int axis);
/// y_i = x_0 · … · x_i. The gradient is right where elements are 0.
Tensor cumprod(Arg x, int axis);
/// y_i = max(x_0, …, x_i), keeping x's dtype; NaN stays. The gradient goes to the first of equals.
Tensor cummax(Arg x, int axis);
Tensor cummin(Arg x, int axis);
/// y_i = log(exp x_0 + … + exp x_i) without overflow. Needs a float type.
Tensor logcumsumexp(Arg x, int axis);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> scan_cases();

}  // namespace tegula
