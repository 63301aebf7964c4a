// Operators that give elements another shape or order.

#include <algorithm>
#include <cmath>

#include "tegula/core/text.h"
#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// 0 keeps a size, -1 is what is left; with allowzero 0 is 0.
Results reshaped(const Call& call) {
  const Tensor x = call[0];
  std::vector<std::int64_t> sizes = call.has("shape") ? call.integers("shape") : call.integers(1);
  const bool keeps = !call.flag("allowzero");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 0 || !keeps) continue;
    if (static_cast<int>(i) >= x.rank())
      call.refuse("a size 0 at axis " + std::to_string(i), "one that x of shape " + to_string(x.shape()) + " has");
    sizes[i] = x.shape()[static_cast<int>(i)];
  }
  return reshape(x, dims_of(call, sizes));
}

Results flattened(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t given = call.integer("axis", 1);
  const int axis = given == x.rank() ? x.rank() : call.axis(given, x.rank());
  return reshape(x, {numel(x.shape(), 0, axis), numel(x.shape(), axis, x.rank())});
}

Results transposed(const Call& call) {
  const Tensor x = call[0];
  std::vector<std::int64_t> order = call.integers("perm");
  if (!call.has("perm"))
    for (int i = x.rank() - 1; i >= 0; --i) order.push_back(i);
  return permute(x, dims_of(call, order));
}

Results squeezed(const Call& call) {
  const Tensor x = call[0];
  const auto axes = call.axes("axes", 1);
  if (!axes) return squeeze(x);
  std::vector<bool> goes(static_cast<std::size_t>(x.rank()), false);
  for (const std::int64_t axis : *axes) {
    const int at = call.axis(axis, x.rank());
    if (x.size(at) != 1) call.refuse("axis " + std::to_string(axis) + " of " + std::to_string(x.size(at)) + " elements", "one of size 1");
    goes[static_cast<std::size_t>(at)] = true;
  }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!goes[static_cast<std::size_t>(i)]) shape.push_back(x.size(i));
  return reshape(x, shape);
}

Results unsqueezed(const Call& call) {
  const Tensor x = call[0];
  const auto axes = call.axes("axes", 1);
  if (!axes) call.refuse("no axes", "some");
  const int rank = x.rank() + static_cast<int>(axes->size());
  if (rank > kMaxRank) call.refuse(std::to_string(rank) + " axes", "at most " + std::to_string(kMaxRank));
  std::vector<bool> is_new(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : *axes) is_new[static_cast<std::size_t>(call.axis(axis, rank))] = true;
  if (std::ranges::count(is_new, true) != static_cast<std::ptrdiff_t>(axes->size()))
    call.refuse("an axis that comes twice", "different ones");
  Shape shape;
  for (int i = 0, from = 0; i < rank; ++i) shape.push_back(is_new[static_cast<std::size_t>(i)] ? 1 : x.size(from++));
  return reshape(x, shape);
}

Results joined(const Call& call) {
  const std::vector<Tensor> parts = call.tensors();
  if (parts.empty()) call.refuse("no inputs", "some");
  return concat(parts, call.axis(call.integer("axis", 1), parts[0].rank()));
}

/// Sizes of the parts: given, or as equal as they can be.
Results parted(const Call& call) {
  const Tensor x = call[0];
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  if (const auto sizes = call.axes("split", 1)) return split(x, *sizes, axis);
  const std::int64_t count = call.integer("num_outputs", static_cast<std::int64_t>(call.results()));
  if (count < 1) call.refuse("num_outputs = " + std::to_string(count), "at least 1");
  const std::int64_t each = (x.size(axis) + count - 1) / count;
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < count; ++i) sizes.push_back(std::clamp<std::int64_t>(x.size(axis) - i * each, 0, each));
  return split(x, sizes, axis);
}

/// x broadcast with a shape: sizes of 1 there keep x's.
Results expanded(const Call& call) {
  const Tensor x = call[0];
  const Shape wanted = shape_of(call, call.integers(1));
  const auto shape = broadcast(x.shape(), wanted);
  if (!shape) call.refuse("shapes " + to_string(x.shape()) + " and " + to_string(wanted), "shapes that broadcast");
  return expand(x, *shape);
}

Results tiled(const Call& call) {
  const Tensor x = call[0];
  if (call.opset() >= 6) return repeat(x, shape_of(call, call.integers(1)));
  Dims counts = Dims::filled(x.rank(), 1);
  counts[call.axis(call.integer(2), x.rank())] = call.integer(1);
  return repeat(x, counts);
}

/// The sizes from start to end, as constants.
Results shape_as_tensor(const Call& call) {
  const Shape shape = call[0].shape();
  const std::int64_t rank = shape.rank();
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(call.integer("start", 0)), end = place(call.integer("end", rank));
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = begin; i < end; ++i) sizes.push_back(shape[static_cast<int>(i)]);
  Value out(constant(sizes));
  out.known = true;
  return out;
}

Results size_as_tensor(const Call& call) {
  Value out{tegula::Tensor(call[0].numel())};
  out.known = true;
  return out;
}

Results ranged(const Call& call) {
  const DType dtype = call[0].dtype();
  if (!is_float(dtype)) {
    const std::int64_t begin = call.integer(0), end = call.integer(1), step = call.integer(2);
    constexpr std::int64_t kFar = std::int64_t{1} << 61;
    if (step == 0 || std::abs(begin) > kFar || std::abs(end) > kFar)
      call.refuse("a range by steps of " + std::to_string(step), "another one");
    if ((end - begin) / (step > 0 ? 1 : -1) <= 0) return zeros({0}, dtype);
    return ops::arange_whole(begin, end, step, dtype, call.where());
  }
  const double begin = call.number(0), end = call.number(1), step = call.number(2);
  const double count = std::max(std::ceil((end - begin) / step), 0.0);
  if (!(count < 1e9)) call.refuse("a range of " + number_text(count) + " numbers", "a step that reaches the end");
  return cast(cast(ops::arange_whole(0, static_cast<std::int64_t>(count), 1, i64, call.where()), f64) * step + begin, dtype);
}

Results identity_matrix(const Call& call) {
  const Tensor x = call[0];
  if (x.rank() != 2) call.refuse("shape " + to_string(x.shape()), "a matrix");
  const DType dtype = call.has("dtype") ? dtype_of(static_cast<Type>(call.integer("dtype", 1))) : x.dtype();
  const std::int64_t k = call.integer("k", 0);
  return cast(iota(x.shape(), 1) - iota(x.shape(), 0) == k, dtype);
}

Results triangle(const Call& call) {
  const std::int64_t k = call.has(1) ? call.integer(1) : 0;
  return call.flag("upper", true) ? triu(call[0], k) : tril(call[0], k);
}

/// (N, C, H, W) with blocks of channels as pixels; DCR: the block's places are the outer part of the channels, CRD: the inner one.
Results to_space(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t b = call.integer("blocksize", 0);
  const std::string mode = call.text("mode", "DCR");
  if (x.rank() != 4 || b < 1 || x.size(1) % (b * b) != 0 || (mode != "DCR" && mode != "CRD"))
    call.refuse("shape " + to_string(x.shape()) + ", blocks of " + std::to_string(b) + ", mode " + mode,
                "(N, C, H, W) with C a multiple of the block's pixels, DCR or CRD");
  const std::int64_t n = x.size(0), c = x.size(1) / (b * b), h = x.size(2), w = x.size(3);
  const Tensor pixels = mode == "CRD" ? permute(reshape(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                                      : permute(reshape(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
  return reshape(pixels, {n, c, h * b, w * b});
}

Results to_depth(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t b = call.integer("blocksize", 0);
  const std::string mode = call.text("mode", "DCR");
  if (x.rank() != 4 || b < 1 || x.size(2) % b != 0 || x.size(3) % b != 0 || (mode != "DCR" && mode != "CRD"))
    call.refuse("shape " + to_string(x.shape()) + ", blocks of " + std::to_string(b) + ", mode " + mode,
                "(N, C, H, W) with H and W multiples of the block, DCR or CRD");
  const std::int64_t n = x.size(0), c = x.size(1), h = x.size(2) / b, w = x.size(3) / b;
  const Tensor blocks = permute(reshape(x, {n, c, h, b, w, b}), mode == "CRD" ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4});
  return reshape(blocks, {n, c * b * b, h, w});
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Reshape", [](Call& c) -> Results { return reshaped(c); }, "shape allowzero consumed_inputs", looked({1})},
    {"Flatten", [](Call& c) -> Results { return flattened(c); }, "axis"},
    {"Transpose", [](Call& c) -> Results { return transposed(c); }, "perm"},
    {"Squeeze", [](Call& c) -> Results { return squeezed(c); }, "axes", looked({1})},
    {"Unsqueeze", [](Call& c) -> Results { return unsqueezed(c); }, "axes", looked({1})},
    {"Concat", [](Call& c) -> Results { return joined(c); }, "axis"},
    {"Split", [](Call& c) -> Results { return parted(c); }, "axis split num_outputs", looked({1})},
    {"Expand", [](Call& c) -> Results { return expanded(c); }, "", looked({1})},
    {"Tile", [](Call& c) -> Results { return tiled(c); }, "", looked({1, 2})},
    {"Shape", [](Call& c) -> Results { return shape_as_tensor(c); }, "start end"},
    {"Size", [](Call& c) -> Results { return size_as_tensor(c); }},
    {"Range", [](Call& c) -> Results { return ranged(c); }, "stash_type", looked({0, 1, 2})},
    {"EyeLike", [](Call& c) -> Results { return identity_matrix(c); }, "dtype k"},
    {"Trilu", [](Call& c) -> Results { return triangle(c); }, "upper", looked({1})},
    {"DepthToSpace", [](Call& c) -> Results { return to_space(c); }, "blocksize mode"},
    {"SpaceToDepth", [](Call& c) -> Results { return to_depth(c); }, "blocksize mode"},
};
// clang-format on

}  // namespace

Operators shape_operators() { return kOperators; }

}  // namespace tegula::onnx
