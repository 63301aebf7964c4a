#include "tegula/core/shape.h"

#include <algorithm>

#include "tegula/core/error.h"

namespace tegula {

void Dims::throw_rank(std::size_t rank) {
  throw Error({.op = "shape",
               .got = std::to_string(rank) + " dimensions",
               .expected = "at most " + std::to_string(kMaxRank),
               .advice = "merge dimensions with reshape"});
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.rank(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + (dims.rank() == 1 ? ",)" : ")");
}

Strides dense_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * std::max<std::int64_t>(shape[i + 1], 1);
  return strides;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const std::int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Layout Layout::channels_last(const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 1);
  std::int64_t step = shape[1];
  for (int i = shape.rank() - 1; i >= 2; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  strides[0] = step;
  return {shape, strides, 0};
}

bool Layout::is_dense() const {
  std::int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::optional<Layout> reshape(const Layout& from, const Shape& shape) {
  if (numel(from.shape) != numel(shape)) return std::nullopt;
  Layout out{shape, dense_strides(shape), from.offset};
  if (numel(shape) == 0) return out;
  // Match runs of old axes with runs of new axes of the same element count; each run of old axes must be mergeable.
  int old_axis = 0, new_axis = 0;
  while (old_axis < from.shape.rank() || new_axis < shape.rank()) {
    const int old_begin = old_axis, new_begin = new_axis;
    std::int64_t old_count = 1, new_count = 1;
    if (old_axis < from.shape.rank()) old_count = from.shape[old_axis++];
    if (new_axis < shape.rank()) new_count = shape[new_axis++];
    while (old_count != new_count) {
      if (old_count < new_count) old_count *= from.shape[old_axis++];
      else new_count *= shape[new_axis++];
    }
    std::int64_t inner = 0, merged = 1;  // stride of the innermost non-unit old axis, and elements in the run so far
    bool any = false;
    for (int i = old_axis - 1; i >= old_begin; --i) {
      if (from.shape[i] == 1) continue;
      if (!any) inner = from.strides[i];
      else if (from.strides[i] != inner * merged) return std::nullopt;
      any = true;
      merged *= from.shape[i];
    }
    std::int64_t stride = any ? inner : 0;
    for (int i = new_axis - 1; i >= new_begin; --i) {
      out.strides[i] = shape[i] == 1 ? 0 : stride;
      stride *= shape[i];
    }
  }
  return out;
}

}  // namespace tegula
