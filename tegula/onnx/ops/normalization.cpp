// Normalisation.

#include "tegula/ops/rows/normalization.h"
#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// Normalises by the given statistics; with training_mode by those of the batch, and the running ones beside it.
Results batch_normalized(const Call& call) {
  const Tensor x = call[0], weight = call[1], bias = call[2], mean_in = call[3], variance_in = call[4];
  const double eps = call.number("epsilon", 1e-5);
  if (!call.flag("spatial", true)) call.refuse("spatial = 0", "statistics of channels");
  const bool trains = call.opset() >= 14 ? call.flag("training_mode") : call.wants(1) && !call.flag("is_test");
  if (!trains) return batch_norm(x, mean_in, variance_in, {.weight = weight, .bias = bias, .eps = eps});
  if (call.opset() < 14) call.refuse("a batch normalisation that trains, of operator set " + std::to_string(call.opset()), "14 or newer");
  Dims axes{0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  const Tensor wide = cast(x, x.dtype() == f64 ? f64 : f32), average = mean(wide, axes), variance = var(wide, axes, {.correction = 0});
  const double kept = call.number("momentum", 0.9);
  const auto running = [&](const Tensor& before, const Tensor& now) { return before * kept + cast(now, before.dtype()) * (1 - kept); };
  return std::vector<Tensor>{
      batch_norm(x, cast(average, mean_in.dtype()), cast(variance, mean_in.dtype()), {.weight = weight, .bias = bias, .eps = eps}),
      running(mean_in, average), running(variance_in, variance)};
}

/// The axes from `axis` on, in x's computed type: halves in f32.
struct Rows {
  Tensor x;
  Shape shape;  // of the axes
  Axes axes;
};

Rows rows_of(const Call& call) {
  const Tensor x = call[0];
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  Dims axes;
  Shape shape;
  for (int i = axis; i < x.rank(); ++i) axes.push_back(i), shape.push_back(x.size(i));
  return {is_half(x.dtype()) ? cast(x, f32) : x, shape, axes};
}

Results layer_normalized(const Call& call) {
  const Rows rows = rows_of(call);
  const double eps = call.number("epsilon", 1e-5);
  const Tensor x = call[0];
  const auto fits = [&](const Tensor& t) { return !t.defined() || t.shape() == rows.shape; };
  Results out;
  if (fits(call.maybe(1)) && fits(call.maybe(2)) && x.dtype() == rows.x.dtype()) {
    out = Results(layer_norm(x, rows.shape, {.weight = call.maybe(1), .bias = call.maybe(2), .eps = eps}));
  } else {  // scale and bias broadcast
    Tensor y = cast(layer_norm(rows.x, rows.shape, {.eps = eps}), x.dtype());
    if (call.has(1)) y = y * call[1];
    if (call.has(2)) y = y + call[2];
    out = Results(y);
  }
  if (!call.wants(1) && !call.wants(2)) return out;
  const Tensor average = mean(rows.x, rows.axes, Keep::Yes);
  out.emplace_back(average);
  out.emplace_back(rsqrt(var(rows.x, rows.axes, {.correction = 0, .keep = Keep::Yes}) + eps));
  return out;
}

Results rms_normalized(const Call& call) {
  const Rows rows = rows_of(call);
  const Tensor y = cast(rms_norm(rows.x, rows.shape, {.eps = call.number("epsilon", 1e-5)}), call[0].dtype());
  return y * call[1];
}

/// Before operator set 21 scale and bias were those of groups.
Results group_normalized(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t groups = call.integer("num_groups", 1);
  if (groups < 1 || x.rank() < 2 || x.size(1) % groups != 0)
    call.refuse(std::to_string(groups) + " groups of x " + to_string(x.shape()), "groups of equally many channels");
  Tensor weight = call[1], bias = call[2];
  if (weight.numel() != x.size(1) && weight.numel() == groups) {
    weight = repeat_interleave(weight, x.size(1) / groups, 0);
    bias = repeat_interleave(bias, x.size(1) / groups, 0);
  }
  return group_norm(x, groups, {.weight = weight, .bias = bias, .eps = call.number("epsilon", 1e-5)});
}

/// x / (bias + alpha / size * Σ x²)^beta over neighbouring channels; of an even size one more behind than in front.
Results response_normalized(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t size = call.integer("size", 1);
  if (size < 1 || x.rank() < 2) call.refuse("size = " + std::to_string(size), "at least 1");
  const double alpha = call.number("alpha", 1e-4), beta = call.number("beta", 0.75), k = call.number("bias", 1);
  if (size % 2 == 1) return local_response_norm(x, {.size = size, .alpha = alpha, .beta = beta, .k = k});
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[1] = {(size - 1) / 2, size - 1 - (size - 1) / 2};
  const Tensor sums = sum(windows(pad(square(x), widths), {1}, {size}), -1);
  return x / pow(k + sums * (alpha / static_cast<double>(size)), beta);
}

/// (x - mean) / sqrt(variance + 1e-9).
Results standardized(const Call& call) {
  const Tensor x = call[0];
  const Dims axes = dims_of(call, call.integers("axes", {0, 2, 3}));
  const Tensor centered = x - mean(x, axes, Keep::Yes);
  return centered / sqrt(mean(square(centered), axes, Keep::Yes) + 1e-9);
}

Results lp_normalized(const Call& call) {
  const Tensor x = call[0];
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const std::int64_t p = call.integer("p", 2);
  if (p != 1 && p != 2) call.refuse("p = " + std::to_string(p), "1 or 2");
  const Tensor length = p == 1 ? sum(abs(x), axis, Keep::Yes) : sqrt(sum(square(x), axis, Keep::Yes));
  const Tensor is_nothing = length == 0.0;
  return where(is_nothing, 0.0, x / where(is_nothing, 1.0, length));
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"BatchNormalization", [](Call& c) -> Results { return batch_normalized(c); }, "epsilon momentum training_mode spatial is_test consumed_inputs", 0, looked({3, 4})},
    {"InstanceNormalization", [](Call& c) -> Results { return instance_norm(c[0], {.weight = c[1], .bias = c[2], .eps = c.number("epsilon", 1e-5)}); }, "epsilon consumed_inputs"},
    {"LayerNormalization", [](Call& c) -> Results { return layer_normalized(c); }, "axis epsilon stash_type"},
    {"RMSNormalization", [](Call& c) -> Results { return rms_normalized(c); }, "axis epsilon stash_type"},
    {"GroupNormalization", [](Call& c) -> Results { return group_normalized(c); }, "epsilon num_groups stash_type"},
    {"LRN", [](Call& c) -> Results { return response_normalized(c); }, "alpha beta bias size"},
    {"MeanVarianceNormalization", [](Call& c) -> Results { return standardized(c); }, "axes"},
    {"LpNormalization", [](Call& c) -> Results { return lp_normalized(c); }, "axis p"},
};
// clang-format on

}  // namespace

Operators normalization_operators() { return kOperators; }

}  // namespace tegula::onnx
