#include "tegula/ops/images/unpool.h"

#include <cmath>
#include <limits>

#include "tegula/graph/autodiff/grad.h"
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
#include "tegula/ops/products/pooling_op.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using ops::PoolingProblem;

/// The place of each maximum in the plane of its channel, of the taps of a pooling; -1 where there is none.
Tensor places_of_taps(const Tensor& taps, const PoolingProblem& problem, const Line& where) {
  const Window& w = problem.window;
  // A constant of each window, the place of its first element, and what each axis of the tap adds to it.
  Layout first{taps.shape(), Dims::filled(taps.rank(), 0), 0};
  std::vector<std::int64_t> steps(static_cast<std::size_t>(w.axes()));
  std::int64_t line = 1;
  for (int i = w.axes() - 1; i >= 0; --i) {
    first.strides[i + 2] = w.stride[i] * line;
    first.offset -= w.low[i] * line;
    steps[static_cast<std::size_t>(i)] = w.dilation[i] * line;
    line *= problem.x.size(i + 2);
  }
  const Tensor tap = graph::cast(taps, i64, where);
  Tensor place = graph::index(first, where);
  std::int64_t inner = 1;
  for (int i = w.axes() - 1; i >= 0; --i) {
    place = place + remainder(floor_divide(tap, inner), w.size[i]) * steps[static_cast<std::size_t>(i)];
    inner *= w.size[i];
  }
  return tegula::where(tap == runtime::Pooling::kNoTap, -1, place);
}

/// The same where no taps are kept: the first element of a window that is its maximum and lies inside.
Tensor places_by_search(const Tensor& values, const PoolingProblem& problem) {
  Shape plane = problem.x.shape();
  plane[0] = plane[1] = 1;
  const Tensor numbered = ops::pooling_windows(reshape(arange(numel(plane)), plane), problem, -1);
  const Tensor all = ops::pooling_windows(problem.x, problem, ops::lowest_of(problem.x.dtype())), is_top = all == unsqueeze(values, -1);
  const Tensor chosen = (numbered >= 0) && (is_float(all.dtype()) ? is_top || isnan(all) : is_top);
  const Tensor best = argmax(cast(chosen, u8), -1, Keep::Yes);
  return squeeze(take_along_axis(expand(numbered, all.shape()), best, -1), -1);
}

/// One node for those who write it elsewhere: it is the second result of ONNX's MaxPool.
Tensor places_of(const std::vector<Tensor>& pooled, const PoolingProblem& problem, const Line& where) {
  if (pooled.size() == 1) return places_by_search(pooled[0], problem);
  const Vjp no_gradient = [](const std::vector<Tensor>&, const Tensor&, const Tensor&) { return std::vector<Tensor>(1); };
  const auto places = [problem, where](const std::vector<Tensor>& in) { return places_of_taps(in[0], problem, where); };
  const Dims sizes = spatial(problem.x.shape());
  const Window& w = problem.window;
  const auto list = [](const Dims& values) { return std::vector<std::int64_t>(values.begin(), values.end()); };
  const NamedOptions options{{"plane", numel(sizes)}, {"sizes", list(sizes)}, {"window", list(w.size)},      {"stride", list(w.stride)},
                             {"low", list(w.low)},    {"high", list(w.high)}, {"dilation", list(w.dilation)}};
  return custom_function("max_pool_indices", options, places, no_gradient, {pooled[1]}, where);
}

PooledPlaces max_pool_with_indices(std::string_view op, int axes, const Arg& arg, const PerAxis& window, const MaxPoolOptions& options) {
  const In frame(op, arg.loc);
  const PoolingProblem problem = ops::max_pooling_of(op, axes, arg, window, options);
  const std::vector<Tensor> pooled = ops::max_pooled(problem, arg.loc);
  const auto as_given = [&](const Tensor& y) {
    return ops::channels_as(problem.is_batched ? y : without_batch(y, arg.loc), axes, options.layout, arg.loc);
  };
  return {as_given(pooled[0]), as_given(places_of(pooled, problem, arg.loc))};
}

Tensor max_unpool(std::string_view op, int axes, const Arg& arg, const Arg& index_arg, const PerAxis& window,
                  const MaxUnpoolOptions& options) {
  const In frame(op, arg.loc);
  const Tensor given = arg.tensor(op), indices = index_arg.tensor(op);
  const bool is_batched = given.rank() == axes + 2;
  if ((!is_batched && given.rank() != axes + 1) || given.numel() == 0 || is_float8(given.dtype()) || given.dtype() == boolean)
    ops::refuse(op, std::string(name(given.dtype())) + " of shape " + to_string(given.shape()),
                "numbers (N, channels, spatial) with " + std::to_string(axes + 2) + " axes, or without the batch, not empty", arg.loc);
  if (indices.shape() != given.shape() || is_float(indices.dtype()))
    ops::refuse(op, "indices " + to_string(indices.shape()) + " of " + std::string(name(indices.dtype())),
                "integers of shape " + to_string(given.shape()), arg.loc);
  const Tensor x = is_batched ? given : with_batch(given, arg.loc);
  const Dims sizes = window.expand(axes, 1, op, "window", arg.loc);
  const Window w =
      make_window(spatial(x.shape()), sizes, options.stride.given() ? options.stride : PerAxis(sizes), options.padding, 1, op, arg.loc);
  Dims size = Dims::filled(axes, 0);
  for (int i = 0; i < axes; ++i) size[i] = (x.size(i + 2) - 1) * w.stride[i] + w.size[i] - w.low[i] - w.high[i];
  if (options.size.given()) size = options.size.expand(axes, 1, op, "size", arg.loc);
  Shape shape{x.size(0), x.size(1)};
  for (const std::int64_t one : size) {
    if (one < 1) ops::refuse(op, "a result of " + to_string(size), "sizes of at least 1", arg.loc);
    shape.push_back(one);
  }
  const Shape lines{x.size(0) * x.size(1), numel(spatial(x.shape()))};
  const Tensor planes = zeros({lines[0], numel(size)}, x.dtype());
  const Tensor y = reshape(scatter(planes, 1, reshape(indices, lines), reshape(x, lines)), shape);
  return is_batched ? y : without_batch(y, arg.loc);
}

}  // namespace

PooledPlaces max_pool1d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool1d_with_indices", 1, x, window, options);
}
PooledPlaces max_pool2d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool2d_with_indices", 2, x, window, options);
}
PooledPlaces max_pool3d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool3d_with_indices", 3, x, window, options);
}

Tensor max_unpool1d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options) {
  return max_unpool("max_unpool1d", 1, x, indices, window, options);
}
Tensor max_unpool2d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options) {
  return max_unpool("max_unpool2d", 2, x, indices, window, options);
}
Tensor max_unpool3d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options) {
  return max_unpool("max_unpool3d", 3, x, indices, window, options);
}

Tensor local_contrast_norm(Arg arg, const ContrastNormOptions& options) {
  constexpr std::string_view kOp = "local_contrast_norm";
  const In frame(kOp, arg.loc);
  const Tensor given = ops::float_tensor(kOp, arg);
  if (given.rank() != 4 || given.size(2) * given.size(3) == 0)
    ops::refuse(kOp, "shape " + to_string(given.shape()), "(N, C, H, W), not empty", arg.loc);
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
  const auto add_places = [&](std::string op, Shape shape, const std::vector<DType>& dtypes, std::function<Tensor(const Tensor&)> places) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const auto& x) { return places(x[0]); },
                     .inputs = {{shape, -90, 90}},
                     .dtypes = dtypes,
                     .gradient = false});
  };
  add_places("max_pool1d_with_indices", {2, 3, 9}, kNumbers,
             [](const Tensor& x) { return max_pool1d_with_indices(x, 3, {.stride = 2, .padding = 4, .ceil_mode = true}).indices; });
  add_places("max_pool2d_with_indices", {2, 3, 7, 6}, kNumbers, [](const Tensor& x) {
    return max_pool2d_with_indices(x, {3, 2}, {.stride = {1, 2}, .padding = 1, .dilation = {2, 1}}).indices;
  });
  add_places("max_pool3d_with_indices", {2, 4, 5, 6}, kNumbers,
             [](const Tensor& x) { return max_pool3d_with_indices(x, 2, {.stride = {1, 2, 3}, .padding = {0, 1, 0}}).indices; });
  add_places("max_pool2d_with_indices", {1, 2, 18, 17}, kFloats,  // for windows this large no taps are kept
             [](const Tensor& x) { return max_pool2d_with_indices(x, 16, {.stride = 1, .padding = 1}).indices; });
  const auto add_unpool = [&](std::string op, Shape shape, Shape from, std::function<Tensor(const Tensor&, const Tensor&)> unpool) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const auto& x) { return unpool(x[0], x[1]); },
                     .inputs = {{shape}, {from, -2, 2, f32, false}},
                     .dtypes = kNumbers});
  };
  add_unpool("max_unpool1d", {2, 3, 4}, {2, 3, 8},
             [](const Tensor& x, const Tensor& by) { return max_unpool1d(x, max_pool1d_with_indices(by, 2).indices, 2); });
  add_unpool("max_unpool2d", {2, 3, 3, 4}, {2, 3, 6, 8},
             [](const Tensor& x, const Tensor& by) { return max_unpool2d(x, max_pool2d_with_indices(by, 2).indices, 2); });
  add_unpool("max_unpool3d", {3, 2, 1, 3}, {3, 5, 2, 7}, [](const Tensor& x, const Tensor& by) {
    return max_unpool3d(x, max_pool3d_with_indices(by, 2).indices, 2, {.size = {5, 2, 7}});
  });
  cases.push_back({.op = "local_contrast_norm",
                   .function = [](const auto& x) { return local_contrast_norm(x[0], {.size = 3}); },
                   .inputs = {{{2, 3, 7, 6}}},
                   .dtypes = {f64, f32},
                   .tolerance = 512});
  return cases;
}

}  // namespace tegula
