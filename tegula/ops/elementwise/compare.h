#pragma once
// Comparisons, element by element: boolean tensors. A node is built; two handles are the same tensor when their node() are equal.

#include "tegula/graph/tensor.h"

namespace tegula {

Tensor operator==(Arg a, Arg b);
Tensor operator!=(Arg a, Arg b);
Tensor operator<(Arg a, Arg b);
Tensor operator<=(Arg a, Arg b);
Tensor operator>(Arg a, Arg b);
Tensor operator>=(Arg a, Arg b);

/// The distance up to which isclose takes two values as equal: |a - b| <= absolute + relative * |b|.
struct Closeness {
  double relative = 1e-5;
  double absolute = 1e-8;
};
/// Equal infinities are close, NaN is close to nothing.
Tensor isclose(Arg a, Arg b, const Closeness& closeness = {});

}  // namespace tegula
