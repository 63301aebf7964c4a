// Elements by number: gathered and scattered.

#include <limits>
#include <optional>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/selecting.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// Indices (…, k) of the first k axes of `sizes` as places in those axes flattened, with an offset for each of the leading `batches`. If one is out of range
/// the place is none, so that the lookup says so.
Tensor places(const Tensor& indices, const Shape& sizes, int batches) {
  const int k = static_cast<int>(indices.shape().back());
  std::int64_t stride = 1;
  Tensor out, is_inside;
  for (int j = k - 1; j >= 0; --j) {
    const std::int64_t size = sizes[batches + j];
    const Tensor raw = select(indices, -1, j), index = where(raw < 0, raw + size, raw);
    const Tensor good = index >= 0 && index < size, part = index * stride;
    out = out.defined() ? out + part : part;
    is_inside = is_inside.defined() ? is_inside && good : good;
    stride *= size;
  }
  Shape shape = indices.shape();
  shape.erase(shape.rank() - 1);
  if (k == 0) return zeros(shape, i64);
  for (int j = batches - 1; j >= 0; --j) {
    out = out + iota(shape, j) * stride;
    stride *= sizes[j];
  }
  return where(is_inside, out, std::numeric_limits<std::int64_t>::max());
}

/// The sizes of x with the first `count` axes as one.
Shape flat_front(const Shape& shape, int count) {
  Shape out{numel(shape, 0, count)};
  for (int i = count; i < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}

void require_depth(const Call& call, const Tensor& x, const Tensor& indices, int batches) {
  if (indices.rank() < 1 || batches < 0 || batches >= indices.rank() || batches + indices.shape().back() > x.rank())
    call.refuse("indices of shape " + to_string(indices.shape()) + " for x of shape " + to_string(x.shape()),
                "at most as many as x has axes");
}

Results gathered_nd(const Call& call) {
  const Tensor x = call[0], indices = cast(call[1], i64);
  const int batches = static_cast<int>(call.integer("batch_dims", 0));
  require_depth(call, x, indices, batches);
  const int front = batches + static_cast<int>(indices.shape().back());
  return take(reshape(x, flat_front(x.shape(), front)), places(indices, x.shape(), batches), 0);
}

/// Nothing where an update replaces what is there.
std::optional<ScatterReduction> reduction_of(const Call& call) {
  const std::string kind = call.text("reduction", "none");
  if (kind == "none") return std::nullopt;
  if (kind == "add") return ScatterReduction::Sum;
  if (kind == "mul") return ScatterReduction::Product;
  if (kind == "min") return ScatterReduction::Minimum;
  if (kind == "max") return ScatterReduction::Maximum;
  call.refuse("reduction " + kind, "none, add, mul, min or max");
}

Results scattered_nd(const Call& call) {
  const Tensor x = call[0], indices = cast(call[1], i64), updates = call[2];
  require_depth(call, x, indices, 0);
  const int front = static_cast<int>(indices.shape().back());
  const std::int64_t count = numel(indices.shape(), 0, indices.rank() - 1), rest = numel(x.shape(), front, x.rank());
  const Tensor rows = reshape(x, {numel(x.shape(), 0, front), rest}), values = reshape(updates, {count, rest});
  const Tensor place = reshape(places(indices, x.shape(), 0), {count});
  const Tensor wide = expand(unsqueeze(place, 1), {count, rest});
  const auto reduction = reduction_of(call);
  Tensor out;
  if (!reduction) out = scatter(rows, 0, wide, values);
  else if (reduction == ScatterReduction::Sum) out = index_add(rows, 0, place, values);
  else out = scatter_reduce(rows, 0, wide, values, *reduction);
  return reshape(out, x.shape());
}

Results scattered_elements(const Call& call) {
  const Tensor x = call[0], updates = call[2];
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  const Tensor raw = cast(call[1], i64);
  const auto reduction = reduction_of(call);
  return reduction ? scatter_reduce(x, axis, raw, updates, *reduction) : scatter(x, axis, raw, updates);
}

Results hot(const Call& call) {
  const std::int64_t depth = static_cast<std::int64_t>(call.number(1));
  const Tensor raw = cast(call[0], i64), index = where(raw < 0, raw + depth, raw), values = call[2];
  const int rank = raw.rank() + 1, axis = call.axis(call.integer("axis", -1), rank);
  const Tensor chosen = where(one_hot(index, depth, boolean), select(values, 0, 1), select(values, 0, 0));
  return movedim(chosen, rank - 1, axis);
}

/// A cache (B, …, S, …) with an update (B, …, T, …) written from place `at` (B) of its axis on.
Results written(const Call& call) {
  const Tensor cache = call[0], update = call[1];
  const int axis = call.axis(call.integer("axis", -2), cache.rank());
  const std::string mode = call.text("mode", "linear");
  if (mode != "linear" && mode != "circular") call.refuse("mode " + mode, "linear or circular");
  Tensor place = iota(update.shape(), axis);
  if (call.has(2)) place = place + along(cast(call[2], i64), 0, cache.rank());
  if (mode == "circular") place = remainder(place, cache.size(axis));
  return scatter(cache, axis, place, update);
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Gather", [](Call& c) -> Results { return take(c[0], c[1], c.axis(c.integer("axis", 0), c[0].rank())); }, "axis"},
    {"GatherElements", [](Call& c) -> Results { return gather(c[0], c.axis(c.integer("axis", 0), c[0].rank()), c[1]); }, "axis"},
    {"GatherND", [](Call& c) -> Results { return gathered_nd(c); }, "batch_dims"},
    {"Scatter", [](Call& c) -> Results { return scattered_elements(c); }, "axis"},
    {"ScatterElements", [](Call& c) -> Results { return scattered_elements(c); }, "axis reduction"},
    {"ScatterND", [](Call& c) -> Results { return scattered_nd(c); }, "reduction"},
    {"OneHot", [](Call& c) -> Results { return hot(c); }, "axis", looked({1})},
    {"TensorScatter", [](Call& c) -> Results { return written(c); }, "axis mode"},
};
// clang-format on

}  // namespace

Operators index_operators() { return kOperators; }

}  // namespace tegula::onnx
