#include "tegula/ops/images/unpool.h"

#include <cmath>
#include <limits>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

Tensor pictures_of(std::string_view op, const Arg& arg) {
  const Tensor x = ops::float_tensor(op, arg);
  if (x.rank() != 4 || x.size(2) * x.size(3) == 0) ops::refuse(op, "shape " + to_string(x.shape()), "(N, C, H, W), not empty", arg.loc);
  return x;
}

Window window_of(std::string_view op, const Tensor& x, const PerAxis& window, const PerAxis& stride, const Padding& padding,
                 const PerAxis& dilation, const Line& where) {
  const Dims size = window.expand(2, 1, op, "window", where);
  return make_window({x.size(2), x.size(3)}, size, stride.given() ? stride : PerAxis(size), padding, dilation, op, where);
}

}  // namespace

PooledPlaces max_pool2d_with_indices(Arg arg, const PerAxis& window, const MaxPoolOptions& options) {
  constexpr std::string_view kOp = "max_pool2d_with_indices";
  const In frame(kOp, arg.loc);
  const Tensor x = pictures_of(kOp, arg);
  const Window w = window_of(kOp, x, window, options.stride, options.padding, options.dilation, arg.loc);
  if (options.ceil_mode) ops::refuse(kOp, "ceil_mode", "none", arg.loc);
  for (int i = 0; i < 2; ++i) {
    if (2 * w.low[i] > w.size[i] || 2 * w.high[i] > w.size[i] || w.output(i, x.size(i + 2)) < 1)
      ops::refuse(kOp, "window " + to_string(w.size) + " for " + to_string(x.shape()), "one that fits, with at most half of it as padding",
                  arg.loc);
  }
  const auto all_windows = [&](const Tensor& of, double outside) {  // (…, H', W', window)
    const PadWidth none{0, 0};
    const Tensor wide = pad(of, {none, none, {w.low[0], w.high[0]}, {w.low[1], w.high[1]}}, {.value = outside});
    return flatten(windows(wide, {2, 3}, w.size, {.stride = w.stride, .dilation = w.dilation}), 4);
  };
  const Tensor view = all_windows(x, -std::numeric_limits<double>::infinity());
  const Tensor best = argmax(view, -1, Keep::Yes);
  const Tensor plane = expand(reshape(arange(x.size(2) * x.size(3)), {1, 1, x.size(2), x.size(3)}), x.shape());
  const auto chosen = [&](const Tensor& all) { return squeeze(take_along_axis(all, best, -1), -1); };
  return {chosen(view), chosen(all_windows(plane, 0))};
}

Tensor max_unpool2d(Arg arg, Arg index_arg, const PerAxis& window, const MaxUnpoolOptions& options) {
  constexpr std::string_view kOp = "max_unpool2d";
  const In frame(kOp, arg.loc);
  const Tensor x = pictures_of(kOp, arg), indices = index_arg.tensor(kOp);
  if (indices.shape() != x.shape() || is_float(indices.dtype()))
    ops::refuse(kOp, "indices " + to_string(indices.shape()) + " of " + std::string(name(indices.dtype())),
                "integers of shape " + to_string(x.shape()), arg.loc);
  const Window w = window_of(kOp, x, window, options.stride, options.padding, 1, arg.loc);
  Dims size{0, 0};
  for (int i = 0; i < 2; ++i) size[i] = (x.size(i + 2) - 1) * w.stride[i] + w.size[i] - w.low[i] - w.high[i];
  if (options.size.given()) size = options.size.expand(2, 1, kOp, "size", arg.loc);
  if (size[0] < 1 || size[1] < 1) ops::refuse(kOp, "a result of " + to_string(size), "sizes of at least 1", arg.loc);
  const Shape lines{x.size(0) * x.size(1), x.size(2) * x.size(3)};
  const Tensor planes = zeros({lines[0], size[0] * size[1]}, x.dtype());
  return reshape(scatter(planes, 1, reshape(indices, lines), reshape(x, lines)), {x.size(0), x.size(1), size[0], size[1]});
}

Tensor local_contrast_norm(Arg arg, const ContrastNormOptions& options) {
  constexpr std::string_view kOp = "local_contrast_norm";
  const In frame(kOp, arg.loc);
  const Tensor given = pictures_of(kOp, arg);
  if (options.size < 1 || options.size % 2 == 0 || !(options.deviation >= 0) || !(options.least > 0))
    ops::refuse(kOp, "size " + std::to_string(options.size), "an odd size, a deviation of at least 0 and a least divisor above 0", arg.loc);
  const Tensor x = ops::widen(given);
  const double deviation = options.deviation > 0 ? options.deviation : std::max(static_cast<double>(options.size) / 4, 0.25);
  const auto middle = static_cast<double>(options.size / 2);
  const Tensor at = (cast(arange(options.size), x.dtype()) - middle) / deviation;
  const Tensor line = exp(square(at) * -0.5);
  const Tensor bell = unsqueeze(line, 1) * unsqueeze(line, 0);
  const Tensor weight = reshape(bell / sum(bell), {1, 1, options.size, options.size});
  const auto smooth = [&](const Tensor& one) { return conv2d(one, weight, {.padding = options.size / 2}); };
  const Tensor inside = smooth(ones({1, 1, x.size(2), x.size(3)}, x.dtype()));
  const auto local_mean = [&](const Tensor& all) { return smooth(mean(all, 1, Keep::Yes)) / inside; };  // (N, 1, H, W)
  const Tensor centred = x - local_mean(x);
  // A picture of one colour has no contrast: sqrt and its derivative stay finite, and 0 stays 0.
  const Tensor spread = sqrt(maximum(local_mean(square(centred)), 1e-30));
  return ops::narrow(centred / maximum(maximum(spread, mean(spread, {2, 3}, Keep::Yes)), options.least), given.dtype());
}

std::vector<OpCase> unpool_cases() {
  std::vector<OpCase> cases;
  for (const std::int64_t padding : {0, 1}) {
    cases.push_back(
        {.op = "max_pool2d_with_indices",
         .function = [=](const auto& x) { return max_pool2d_with_indices(x[0], {3, 2}, {.stride = 2, .padding = padding}).values; },
         .inputs = {{{2, 3, 7, 6}}},
         .more_shapes = {{{1, 1, 3, 2}}}});
  }
  cases.push_back({.op = "max_unpool2d",
                   .function =
                       [](const auto& x) {
                         const Tensor places = max_pool2d_with_indices(x[1], 2).indices;
                         return max_unpool2d(x[0], places, 2);
                       },
                   .inputs = {{{2, 3, 3, 4}}, {{2, 3, 6, 8}, -2, 2, {}, false}}});
  cases.push_back({.op = "local_contrast_norm",
                   .function = [](const auto& x) { return local_contrast_norm(x[0], {.size = 3}); },
                   .inputs = {{{2, 3, 7, 6}}},
                   .dtypes = {f64, f32},
                   .tolerance = 512});
  return cases;
}

}  // namespace tegula
