// Operators that take parts of a tensor, or put something around it.

#include <algorithm>

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

constexpr std::int64_t kFar = std::int64_t{1} << 48;  // beyond any axis: files write INT64_MAX for "to the end"

Results sliced(const Call& call) {
  const Tensor x = call[0];
  const bool has_attributes = call.has("starts");
  const auto starts = has_attributes ? call.integers("starts") : call.integers(1);
  const auto ends = has_attributes ? call.integers("ends") : call.integers(2);
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  if (const auto given = call.axes("axes", 3)) axes = *given;
  else
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (!has_attributes && call.has(4)) steps = call.integers(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse(std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) + " ends, " + std::to_string(axes.size()) +
                    " axes, " + std::to_string(steps.size()) + " steps",
                "as many of each");
  std::vector<Slice> slices(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t step = steps[i], size = x.size(call.axis(axes[i], x.rank()));
    if (step == 0) call.refuse("a step of 0", "another one");
    Slice& slice = slices[static_cast<std::size_t>(call.axis(axes[i], x.rank()))];
    slice = {std::clamp(starts[i], -kFar, kFar), std::clamp(ends[i], -kFar, kFar), std::clamp(step, -kFar, kFar)};
    // The end of a walk backwards that reaches element 0 has no number in Python's rule.
    if (step < 0 && *slice.end < -size) slice.end = std::nullopt;
    if (step < 0 && *slice.begin < -size) slice.begin = 0;  // ONNX begins at element 0 where NumPy takes none
  }
  return slice(x, slices);
}

Results padded(const Call& call) {
  const Tensor x = call[0];
  std::vector<std::int64_t> pads;
  if (call.has("pads")) pads = call.integers("pads");
  else if (call.has("paddings")) pads = call.integers("paddings");
  else pads = call.integers(1);
  std::vector<std::int64_t> axes;
  if (call.has(3)) axes = call.integers(3);
  else
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (pads.size() != 2 * axes.size()) call.refuse(std::to_string(pads.size()) + " pads", "two for each axis");
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i)
    widths[static_cast<std::size_t>(call.axis(axes[i], x.rank()))] = {pads[i], pads[i + axes.size()]};
  PadOptions options;
  const std::string mode = call.text("mode", "constant");
  if (mode == "reflect") options.mode = PadMode::Reflect;
  else if (mode == "edge") options.mode = PadMode::Replicate;
  else if (mode == "wrap") options.mode = PadMode::Circular;
  else if (mode != "constant") call.refuse("mode " + mode, "constant, reflect, edge or wrap");
  if (call.has("value")) options.value = call.number("value", 0);
  else if (call.has(2) && is_float(x.dtype())) options.value = call.number(2);
  else if (call.has(2)) options.value = call.integer(2);
  return pad(x, widths, options);
}

/// Cut or padded around the middle, to the sizes of some axes.
Results centered(const Call& call) {
  const Tensor x = call[0];
  const auto sizes = call.integers(1);
  std::vector<std::int64_t> axes = call.integers("axes");
  if (!call.has("axes"))
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (axes.size() != sizes.size())
    call.refuse(std::to_string(sizes.size()) + " sizes", "one for each of " + std::to_string(axes.size()) + " axes");
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = call.axis(axes[i], x.rank());
    const std::int64_t more = sizes[i] - x.size(axis), low = more >= 0 ? more / 2 : -(-more / 2);
    widths[static_cast<std::size_t>(axis)] = {low, more - low};
  }
  return pad(x, widths);
}

/// The first lengths[b] elements of each sample in the opposite order.
Results reversed(const Call& call) {
  const Tensor x = call[0];
  const int time = call.axis(call.integer("time_axis", 0), x.rank()), batch = call.axis(call.integer("batch_axis", 1), x.rank());
  Shape shape = Dims::filled(x.rank(), 1);
  shape[time] = x.size(time), shape[batch] = x.size(batch);
  const Tensor step = iota(shape, time), length = along(cast(call[1], i64), batch, x.rank());
  return take_along_axis(x, where(step < length, length - 1 - step, step), time);
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Slice", [](Call& c) -> Results { return sliced(c); }, "starts ends axes", looked({1, 2, 3, 4})},
    {"Pad", [](Call& c) -> Results { return padded(c); }, "mode pads paddings value", looked({1, 2, 3})},
    {"CenterCropPad", [](Call& c) -> Results { return centered(c); }, "axes", looked({1})},
    {"ReverseSequence", [](Call& c) -> Results { return reversed(c); }, "time_axis batch_axis"},
};
// clang-format on

}  // namespace

Operators slicing_operators() { return kOperators; }

}  // namespace tegula::onnx
