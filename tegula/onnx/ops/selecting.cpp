// Order, running totals, and what depends on values for its shape, which is computed on the host.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

Results greatest(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t k = call.has("k") ? call.integer("k", 1) : call.integer(1);
  const Sorted out =
      topk(x, k, call.axis(call.integer("axis", -1), x.rank()), call.flag("largest", true) ? Order::Descending : Order::Ascending);
  return std::vector<Tensor>{out.values, out.indices};
}

Results place_of_extreme(const Call& call, bool greatest) {
  Tensor x = call[0];
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  const Keep keep = call.flag("keepdims", true) ? Keep::Yes : Keep::No;
  const auto found = [&](const Tensor& t) { return greatest ? argmax(t, axis, keep) : argmin(t, axis, keep); };
  if (!call.flag("select_last_index")) return found(x);
  return x.size(axis) - 1 - found(flip(x, axis));
}

/// Totals along an axis: of what came before (exclusive), from the end on (reverse).
template <class F>
Results totals(const Call& call, F total, std::int64_t neutral) {
  Tensor x = call[0];
  const int axis = call.axis(call.integer(1), x.rank());
  const bool is_reverse = call.flag("reverse");
  const DType dtype = x.dtype();
  if (is_reverse) x = flip(x, axis);
  if (call.flag("exclusive")) {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths[static_cast<std::size_t>(axis)] = {1, -1};
    x = pad(x, widths, {.value = neutral});
  }
  x = cast(total(x, axis), dtype);
  return is_reverse ? flip(x, axis) : x;
}

/// (rank, n): the places of what is not 0.
Results places_of_nonzero(const Call& call) {
  const HostArray x = call.look(0);
  std::vector<std::int64_t> found;
  visit(x.dtype, [&](auto zero) {
    const auto values = x.values<decltype(zero)>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (as_double(values[i]) != 0) found.push_back(static_cast<std::int64_t>(i));
  });
  const auto count = static_cast<std::int64_t>(found.size());
  std::vector<std::int64_t> out;
  const Strides strides = dense_strides(x.shape);
  for (int axis = 0; axis < x.shape.rank(); ++axis)
    for (const std::int64_t i : found) out.push_back(i / strides[axis] % x.shape[axis]);
  return tensor(std::span<const std::int64_t>(out), {x.shape.rank(), count});
}

Results compressed(const Call& call) {
  const HostArray condition = call.look(1);
  if (condition.dtype != boolean) call.refuse("a condition of " + std::string(name(condition.dtype)), "bool");
  std::vector<std::int64_t> kept;
  const auto flags = condition.values<bool>();
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) kept.push_back(static_cast<std::int64_t>(i));
  if (!call.has("axis")) return take(reshape(call[0], {-1}), constant(kept), 0);
  return take(call[0], constant(kept), call.axis(call.integer("axis", 0), call[0].rank()));
}

/// Different elements, or slices along an axis: those values, where each comes first, which of them each slice is, and how often each comes.
Results different(const Call& call) {
  const Tensor given = call[0];
  const bool is_flat = !call.has("axis");
  const int axis = is_flat ? 0 : call.axis(call.integer("axis", 0), given.rank());
  const HostArray host = call.look(0);
  const Tensor x = is_flat ? reshape(given, {-1}) : given;
  const std::int64_t count = x.size(axis), inner = numel(x.shape(), axis + 1, x.rank()), outer = numel(x.shape(), 0, axis);
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(count));
  visit(host.dtype, [&](auto zero) {
    const auto values = host.values<decltype(zero)>();
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < inner; ++j)
          rows[static_cast<std::size_t>(i)].push_back(as_double(values[static_cast<std::size_t>((o * count + i) * inner + j)]));
  });
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
  std::vector<std::int64_t> first, inverse(rows.size()), counts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || rows[order[i]] != rows[order[i - 1]]) first.push_back(static_cast<std::int64_t>(order[i])), counts.push_back(0);
    inverse[order[i]] = static_cast<std::int64_t>(first.size()) - 1;
    ++counts.back();
  }
  if (!call.flag("sorted", true)) {  // in the order in which they come
    std::vector<std::size_t> by_place(first.size()), rank(first.size());
    std::iota(by_place.begin(), by_place.end(), 0);
    std::ranges::sort(by_place, [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
    std::vector<std::int64_t> new_first, new_counts;
    for (std::size_t i = 0; i < by_place.size(); ++i) {
      rank[by_place[i]] = i;
      new_first.push_back(first[by_place[i]]), new_counts.push_back(counts[by_place[i]]);
    }
    for (auto& one : inverse) one = static_cast<std::int64_t>(rank[static_cast<std::size_t>(one)]);
    first = new_first, counts = new_counts;
  }
  return std::vector<Tensor>{take(x, constant(first), axis), constant(first), constant(inverse), constant(counts)};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return std::max(bottom - top, 0.0) * std::max(right - left, 0.0); }
};

double overlap(const Box& a, const Box& b) {
  const Box both{std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom), std::min(a.right, b.right)};
  const double joined = a.area() + b.area() - both.area();
  return joined > 0 ? both.area() / joined : 0;
}

/// (n, 3): batch, class and box of the boxes that no better one of their class covers.
Results best_boxes(const Call& call) {
  const auto boxes = call.numbers(0), scores = call.numbers(1);
  const Shape box_shape = call[0].shape(), score_shape = call[1].shape();
  if (box_shape.rank() != 3 || score_shape.rank() != 3 || box_shape[2] != 4 || box_shape[0] != score_shape[0] ||
      box_shape[1] != score_shape[2])
    call.refuse("boxes " + to_string(box_shape) + " and scores " + to_string(score_shape), "(N, boxes, 4) and (N, classes, boxes)");
  const std::int64_t most = call.has(2) ? call.integer(2) : 0;
  const double threshold = call.has(3) ? call.number(3) : 0;
  const bool has_least = call.has(4), is_centered = call.flag("center_point_box");
  const double least = has_least ? call.number(4) : 0;
  const std::int64_t count = box_shape[1], classes = score_shape[1];
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < box_shape[0]; ++n) {
    const auto box = [&](std::int64_t i) {
      const double* b = boxes.data() + (n * count + i) * 4;
      if (is_centered) return Box{b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
      return Box{std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
    };
    for (std::int64_t k = 0; k < classes; ++k) {
      const double* score = scores.data() + (n * classes + k) * count;
      std::vector<std::int64_t> order, kept;
      for (std::int64_t i = 0; i < count; ++i)
        if (!has_least || score[i] > least) order.push_back(i);
      std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= most) break;
        if (std::ranges::any_of(kept, [&](std::int64_t j) { return overlap(box(i), box(j)) > threshold; })) continue;
        kept.push_back(i);
        out.insert(out.end(), {n, k, i});
      }
    }
  }
  return tensor(std::span<const std::int64_t>(out), {static_cast<std::int64_t>(out.size() / 3), 3});
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"TopK", [](Call& c) -> Results { return greatest(c); }, "axis k largest sorted", looked({1})},
    {"ArgMax", [](Call& c) -> Results { return place_of_extreme(c, true); }, "axis keepdims select_last_index"},
    {"ArgMin", [](Call& c) -> Results { return place_of_extreme(c, false); }, "axis keepdims select_last_index"},
    {"CumSum", [](Call& c) -> Results { return totals(c, [](const Tensor& x, int axis) { return cumsum(x, axis); }, 0); }, "exclusive reverse", looked({1})},
    {"CumProd", [](Call& c) -> Results { return totals(c, [](const Tensor& x, int axis) { return cumprod(x, axis); }, 1); }, "exclusive reverse", looked({1})},
    {"NonZero", [](Call& c) -> Results { return places_of_nonzero(c); }, "", looked({0})},
    {"Compress", [](Call& c) -> Results { return compressed(c); }, "axis", looked({1})},
    {"Unique", [](Call& c) -> Results { return different(c); }, "axis sorted", looked({0})},
    {"NonMaxSuppression", [](Call& c) -> Results { return best_boxes(c); }, "center_point_box", looked({0, 1, 2, 3, 4})},
};
// clang-format on

}  // namespace

Operators selecting_operators() { return kOperators; }

}  // namespace tegula::onnx
