#pragma once
// Reductions over axes: sum(x), sum(x, 1), sum(x, {0, 2}, Keep::Yes). Without axes over all of them.

#include <optional>

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {

/// Floats keep their dtype (halves are added in f32), integers and booleans give i64. Empty: 0.
Tensor sum(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// The product, with axes and dtype as for sum; empty: 1. The gradient is right where elements are 0.
Tensor prod(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// Needs a float type. Empty: NaN.
Tensor mean(Arg x, const Axes& axes = {}, Keep keep = Keep::No);

/// The greatest or smallest element, NaN when there is one. The gradient is shared evenly among equals. Throws when there is no element.
Tensor max(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
Tensor min(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// i64 index of the first greatest or smallest element along an axis, of the first NaN when there is one; without an axis, in the
/// flattened tensor.
Tensor argmax(Arg x, std::optional<int> axis = std::nullopt, Keep keep = Keep::No);
Tensor argmin(Arg x, std::optional<int> axis = std::nullopt, Keep keep = Keep::No);

/// bool: whether any (all) elements are not 0. Empty: false (true).
Tensor any(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
Tensor all(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// i64.
Tensor count_nonzero(Arg x, const Axes& axes = {}, Keep keep = Keep::No);

struct VarianceOptions {
  double correction = 1;  // the sum of squares is divided by n - correction
  Keep keep = Keep::No;
};
/// Needs a float type; two passes, so no cancellation.
Tensor var(Arg x, const Axes& axes = {}, const VarianceOptions& options = {});
struct VarMean {
  Tensor var, mean;
};
/// Both, which one program computes.
VarMean var_mean(Arg x, const Axes& axes = {}, const VarianceOptions& options = {});
/// sqrt(var). (`std` cannot be a function beside the namespace.) Where the variance is 0 so is the gradient.
Tensor stddev(Arg x, const Axes& axes = {}, const VarianceOptions& options = {});

/// (Σ |x|^p)^(1/p); p = infinity: the greatest |x|, -infinity: the smallest, 0: the count of nonzero elements. If the norm is 0, the gradient is 0.
Tensor norm(Arg x, double p = 2, const Axes& axes = {}, Keep keep = Keep::No);

/// log Σ exp(x) without overflow; -inf when all elements are (the gradient is 0 there) or there is none.
Tensor logsumexp(Arg x, const Axes& axes = {}, Keep keep = Keep::No);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> reduce_cases();

}  // namespace tegula
