#pragma once
// Taking tensors apart and putting them together: concat, pad, repeat, roll, triangles.

#include <vector>

#include "tegula/ops/shape/shape.h"

namespace tegula {

/// Side by side along an axis; the other sizes must agree. Dtypes are promoted. An empty list is an error.
Tensor concat(std::initializer_list<Arg> xs, int axis = 0);
Tensor concat(const std::vector<Tensor>& xs, int axis = 0, Line where = Line::current());
/// Along a new axis; all shapes must agree.
Tensor stack(std::initializer_list<Arg> xs, int axis = 0);
Tensor stack(const std::vector<Tensor>& xs, int axis = 0, Line where = Line::current());
/// Pieces of `size` along an axis, the last one the rest; or pieces of given sizes, which must add up.
std::vector<Tensor> split(Arg x, std::int64_t size, int axis = 0);
std::vector<Tensor> split(Arg x, const std::vector<std::int64_t>& sizes, int axis = 0);
/// Cuts x into at most `count` pieces of equal size (the last may be smaller), as PyTorch does.
std::vector<Tensor> chunk(Arg x, std::int64_t count, int axis = 0);
/// The slices at each position of an axis, which goes: stack's inverse.
std::vector<Tensor> unbind(Arg x, int axis = 0);

/// The numbers of elements to add before and after an axis; negative numbers take away.
struct PadWidth {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
enum class PadMode : std::uint8_t {
  Constant,
  Reflect,    // c b | a b c | b a: at most size - 1 elements
  Replicate,  // a a | a b c | c c
  Circular,   // b c | a b c | a b: at most size elements
};
struct PadOptions {
  PadMode mode = PadMode::Constant;
  Number value = 0;  // Constant
};
/// One width for each axis, outermost first.
Tensor pad(Arg x, std::initializer_list<PadWidth> widths, const PadOptions& options = {});
Tensor pad(Arg x, std::span<const PadWidth> widths, const PadOptions& options = {});

/// counts[i] copies of x side by side along axis i (NumPy's tile); leading axes are added when there are more counts than axes.
Tensor repeat(Arg x, const Dims& counts);
/// Each element `count` times in a row along an axis; without an axis x is flattened first.
Tensor repeat_interleave(Arg x, std::int64_t count, std::optional<int> axis = std::nullopt);
/// Each element moves `shift` positions along the axis; elements that fall off come in at the other end.
Tensor roll(Arg x, std::int64_t shift, int axis);
/// One shift for each axis.
Tensor roll(Arg x, const Dims& shifts, const Dims& axes);

/// The last two axes: elements with j - i > k (tril) or j - i < k (triu) become 0.
Tensor tril(Arg x, std::int64_t k = 0);
Tensor triu(Arg x, std::int64_t k = 0);
/// (n) -> (n + |k|, n + |k|) with x on the k-th diagonal; (n, m) -> its k-th diagonal.
Tensor diag(Arg x, std::int64_t k = 0);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> join_cases();

}  // namespace tegula
