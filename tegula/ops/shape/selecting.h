#pragma once
// Elements whose number depends on values. The graph knows every shape when it is built: results have room for `most`, and say how many there are.

#include "tegula/graph/tensor.h"

namespace tegula {

struct Places {
  Tensor index;  // (most, rank of x) i64; rows behind the last are 0
  Tensor count;  // () i64: how many there are, also when there are more than `most`
};
/// The index of each element of x that is not 0, in row-major order (jnp.nonzero with `size`). No gradients.
Places nonzero(Arg x, std::int64_t most);

struct Selected {
  Tensor values;  // as x, with `most` slices along the axis; zeros behind the last
  Tensor count;  // () i64
};
/// The slices of x along `axis` at which the mask (as long as the axis) is not 0, in their order (NumPy's compress). Gradients flow to x.
Selected compress(Arg x, Arg mask, std::int64_t most, int axis = 0);
/// The elements of x at which the mask (broadcast to x) is not 0, in row-major order: values (most).
Selected masked_select(Arg x, Arg mask, std::int64_t most);

struct UniqueValues {
  Tensor values;  // (most), ascending; zeros behind the last
  Tensor first;  // (most) i64: where each comes first in the flattened x
  Tensor inverse;  // x's shape, i64: the position in `values` of each element of x
  Tensor counts;  // (most) i64: how often each comes
  Tensor count;  // () i64: how many different elements there are
};
/// The different elements of x. Each NaN is different from the others. If there are more than `most`, the greatest are left out, and
/// `inverse` counts them nevertheless. Gradients flow through `values`, to the first of equal elements.
UniqueValues unique(Arg x, std::int64_t most);

enum class ScatterReduction : std::uint8_t { Sum, Product, Minimum, Maximum };
/// x with y[i, index[i, j, k], k] combined with all source[i, j, k] of that place for axis 1 (torch.scatter_reduce with include_self). index and
/// source have one shape, x's rank, and along the other axes at most x's sizes. Sum is scatter_add; the others sort the index, O(n log n), without a
/// number for each pair. Throws Error as scatter does. The gradient of Minimum and Maximum is shared as minimum(a, b) shares it.
Tensor scatter_reduce(Arg x, int axis, Arg index, Arg source, ScatterReduction reduction);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> selecting_cases();

}  // namespace tegula
