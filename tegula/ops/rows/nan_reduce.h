#pragma once
// Reductions over the elements that are there: NaN stands for a missing number and does not count. They are the functions of those names in NumPy and PyTorch;
// of a float type. An element that is NaN gets no gradient.

#include "tegula/ops/rows/reduce.h"

namespace tegula {

/// The sum of the numbers; 0 where there is none.
Tensor nansum(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// Their mean; NaN where there is none.
Tensor nanmean(Arg x, const Axes& axes = {}, Keep keep = Keep::No);
/// The sum of squared distances from their mean by n - correction, where n is how many numbers there are; NaN where there is none.
Tensor nanvar(Arg x, const Axes& axes = {}, const VarianceOptions& options = {});
/// sqrt(nanvar). If the variance is 0, the gradient is 0.
Tensor nanstd(Arg x, const Axes& axes = {}, const VarianceOptions& options = {});
/// The middle one of the numbers along an axis, the lower of two; NaN where there is none.
Tensor nanmedian(Arg x, int axis = -1, Keep keep = Keep::No);

/// The cases for the tests (case.h).
std::vector<OpCase> nan_reduce_cases();

}  // namespace tegula
