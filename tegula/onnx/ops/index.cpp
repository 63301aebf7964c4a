// Elements by number: gathered and scattered.

#include <limits>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;  // elements of a scatter by comparing all places with all indices

/// Indices (…, k) of the first k axes of `sizes` as places in those axes flattened, with an offset for each of the leading `batches`. Where one is out of range the
/// place is none, so that the lookup says so.
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

enum class Scatter : std::uint8_t { None, Add, Mul, Min, Max };

Scatter scatter_of(const Call& call) {
  const std::string kind = call.text("reduction", "none");
  if (kind == "none") return Scatter::None;
  if (kind == "add") return Scatter::Add;
  if (kind == "mul") return Scatter::Mul;
  if (kind == "min") return Scatter::Min;
  if (kind == "max") return Scatter::Max;
  call.refuse("reduction " + kind, "none, add, mul, min or max");
}

/// x (D, R) with updates (M, R) combined into rows index (M, R), each place compared with each index.
Tensor combined(const Call& call, const Tensor& x, const Tensor& index, const Tensor& updates, Scatter kind) {
  const std::int64_t d = x.size(0), m = index.size(0), r = x.size(1);
  if (d * m > kMostPairs / std::max<std::int64_t>(r, 1))
    call.refuse("a scatter by " + call.text("reduction") + " of " + std::to_string(m * r) + " into " + std::to_string(d * r) + " elements",
                "one of fewer, or none or add");
  if (m == 0) return x;
  const Tensor is_here = expand(unsqueeze(index, 0), {d, m, r}) == iota({d, m, r}, 0);
  const Tensor parts = expand(unsqueeze(updates, 0), {d, m, r});
  if (kind == Scatter::Mul) return x * cast(prod(where(is_here, parts, 1), 1), x.dtype());
  const Tensor own = expand(unsqueeze(x, 1), {d, m, r}), seen = where(is_here, parts, own);
  return kind == Scatter::Max ? maximum(x, max(seen, 1)) : minimum(x, min(seen, 1));
}

Results scattered_nd(const Call& call) {
  const Tensor x = call[0], indices = cast(call[1], i64), updates = call[2];
  require_depth(call, x, indices, 0);
  const int front = static_cast<int>(indices.shape().back());
  const std::int64_t count = numel(indices.shape(), 0, indices.rank() - 1), rest = numel(x.shape(), front, x.rank());
  const Tensor rows = reshape(x, {numel(x.shape(), 0, front), rest}), values = reshape(updates, {count, rest});
  const Tensor place = reshape(places(indices, x.shape(), 0), {count});
  const Tensor wide = expand(unsqueeze(place, 1), {count, rest});
  const Scatter kind = scatter_of(call);
  Tensor out;
  if (kind == Scatter::None) out = scatter(rows, 0, wide, values);
  else if (kind == Scatter::Add) out = index_add(rows, 0, place, values);
  else out = combined(call, rows, wide, values, kind);
  return reshape(out, x.shape());
}

Results scattered_elements(const Call& call) {
  const Tensor x = call[0], updates = call[2];
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  const Tensor raw = cast(call[1], i64);
  const Scatter kind = scatter_of(call);
  if (kind == Scatter::None) return scatter(x, axis, raw, updates);
  if (kind == Scatter::Add) return scatter_add(x, axis, raw, updates);
  // As rows: the axis in front, the others flattened. Where the index is smaller than x, places without an update have an index that is none.
  Tensor index = where(raw < 0, raw + x.size(axis), raw), values = updates;
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) widths[static_cast<std::size_t>(i)].high = x.size(i) - index.size(i);
  index = pad(index, widths, {.value = -1});
  values = pad(values, widths);
  const auto as_rows = [&](const Tensor& t) {
    const Tensor front = movedim(t, axis, 0);
    return reshape(front, {t.size(axis), numel(front.shape(), 1, front.rank())});
  };
  const Tensor out = combined(call, as_rows(x), as_rows(index), as_rows(values), kind);
  return movedim(reshape(out, movedim(x, axis, 0).shape()), 0, axis);
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
