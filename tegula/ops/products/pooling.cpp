#include "tegula/ops/products/pooling.h"

#include <algorithm>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/pooling_op.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using ops::PoolingProblem;
using runtime::PoolingKind;

enum class Kinds : std::uint8_t { Floats, Numbers };

// The input of the public functions after the checks, with a batch axis added to (C, spatial…).
struct Input {
  Tensor x;
  bool is_batched;
};

Input input_of(std::string_view op, int axes, const Arg& arg, Kinds kinds = Kinds::Floats) {
  const Tensor x = arg.tensor(op);
  const bool is_taken = (is_float(x.dtype()) && !is_float8(x.dtype())) || (kinds == Kinds::Numbers && is_integer(x.dtype()));
  if (!is_taken || (x.rank() != axes + 1 && x.rank() != axes + 2)) {
    throw Error({.op = std::string(op),
                 .got = std::string(name(x.dtype())) + " of shape " + to_string(x.shape()),
                 .expected = std::string(kinds == Kinds::Floats ? "a float tensor" : "numbers") + " (channels, spatial) with " +
                             std::to_string(axes + 1) + " axes, or a batch of them with " + std::to_string(axes + 2),
                 .where = origin_at(arg.loc).where});
  }
  const bool is_batched = x.rank() == axes + 2;
  return {is_batched ? x : with_batch(x, arg.loc), is_batched};
}

Shape pooled_shape(std::string_view op, const Tensor& x, const Window& window, const Line& where) {
  Shape shape{x.shape()[0], x.shape()[1]};
  for (int i = 0; i < window.axes(); ++i) shape.push_back(window.output(i, x.shape()[i + 2]));
  if (numel(spatial(shape)) == 0) {
    throw Error({.op = std::string(op),
                 .got = "shape " + to_string(x.shape()) + " and window " + to_string(window.size),
                 .expected = "a window that fits into the padded input",
                 .where = origin_at(where).where});
  }
  return shape;
}

// The window whose padding reaches just as far as its last position: what ceil_mode adds becomes padding.
Window reaching(const Window& window, const Shape& x, const Shape& y) {
  Window out = window;
  for (int i = 0; i < window.axes(); ++i) {
    const std::int64_t reached = (y[i + 2] - 1) * window.stride[i] + window.dilation[i] * (window.size[i] - 1) + 1;
    if (window.ceil) out.high[i] = reached - x[i + 2] - window.low[i];
  }
  out.ceil = false;
  return out;
}

template <class Options>
PoolingProblem problem_of(std::string_view op, int axes, const Arg& arg, Kinds kinds, const PerAxis& size, const Options& options) {
  auto [x, is_batched] = input_of(op, axes, Arg(ops::channels_first(arg.tensor(op), axes, options.layout, arg.loc), arg.loc), kinds);
  const Dims sizes = size.expand(axes, 1, op, "window", arg.loc);
  Window window = make_window(spatial(x.shape()), sizes, options.stride.given() ? options.stride : PerAxis(sizes), options.padding,
                              options.dilation, op, arg.loc);
  window.ceil = options.ceil_mode;
  const Shape shape = pooled_shape(op, x, window, arg.loc);
  return {x, reaching(window, x.shape(), shape), shape, is_batched};
}

Tensor as_given(const Tensor& y, const PoolingProblem& problem, AxisOrder layout, const Line& where) {
  return ops::channels_as(problem.is_batched ? y : without_batch(y, where), problem.window.axes(), layout, where);
}

Tensor max_pool(std::string_view op, int axes, const Arg& arg, const PerAxis& size, const MaxPoolOptions& options) {
  const In frame(op, arg.loc);
  const PoolingProblem problem = ops::max_pooling_of(op, axes, arg, size, options);
  return as_given(ops::max_pooled(problem, arg.loc)[0], problem, options.layout, arg.loc);
}

/// x with `outside` around it, as the window's padding says.
Tensor padded(const Tensor& x, const Window& window, Number outside) {
  std::vector<PadWidth> widths(2);
  for (int i = 0; i < window.axes(); ++i) widths.push_back({window.low[i], window.high[i]});
  return pad(x, widths, {.value = outside});
}

// A reduction over a view for each axis: the maximum of a window is that of its lines' maxima.
Tensor max_of_integers(const PoolingProblem& problem) {
  const Window& w = problem.window;
  Tensor y = padded(problem.x, w, ops::lowest_of(problem.x.dtype()));
  for (int i = 0; i < w.axes(); ++i) y = max(windows(y, {i + 2}, {w.size[i]}, {.stride = {w.stride[i]}, .dilation = {w.dilation[i]}}), -1);
  return y;
}

// With ceil_mode PyTorch divides by the part of the window inside the padded input, which ends at x + `high`; the device divides by the window.
Tensor overhang(const Tensor& y, const Window& window, const Shape& x, const Dims& high, const Line& where) {
  Tensor product = y;
  const DType fine = y.dtype() == f64 ? f64 : f32;
  for (int i = 0; i < window.axes(); ++i) {
    const std::int64_t count = y.shape()[i + 2], size = window.size[i], dilation = window.dilation[i], end = x[i + 2] + high[i];
    if ((count - 1) * window.stride[i] - window.low[i] + dilation * (size - 1) + 1 <= end) continue;  // the last one lies inside
    Shape shape = Dims::filled(window.axes() - i, 1);
    shape[0] = count;
    const Tensor begin = graph::index({{count}, {window.stride[i]}, -window.low[i]}, where);
    const Tensor inside = graph::cast(minimum(floor_divide(end - begin + (dilation - 1), dilation), size), fine, where);
    product = product * graph::reshape(graph::cast(static_cast<double>(size) / inside, y.dtype(), where), shape, where);
  }
  return product;
}

Tensor avg_pool(std::string_view op, int axes, const Arg& arg, const PerAxis& size, const AveragePoolOptions& options) {
  const In frame(op, arg.loc);
  const PoolingProblem problem = problem_of(op, axes, arg, Kinds::Floats, size, options);
  const auto kind = options.count_include_pad ? PoolingKind::AverageWithPadding : PoolingKind::AverageWithoutPadding;
  Tensor y = ops::pooling_nodes(kind, false, problem.window, {problem.x}, problem.shape, arg.loc)[0];
  if (options.count_include_pad && options.ceil_mode && options.padding.rule() != PaddingRule::Same)
    y = overhang(y, problem.window, problem.x.shape(), options.padding.high().expand(axes, 0, op, "padding", arg.loc), arg.loc);
  return as_given(y, problem, options.layout, arg.loc);
}

enum class Statistic : std::uint8_t { Mean, Max };

// One axis at a time: the windows of an axis are the same along the others, and a mean of means of equal sizes is the mean.
Tensor adaptive_axis(const Tensor& x, int axis, std::int64_t outputs, Statistic statistic) {
  const std::int64_t size = x.shape()[axis];
  const auto reduced = [&](const Tensor& t, int over, Keep keep) {
    return statistic == Statistic::Mean ? mean(t, over, keep) : max(t, over, keep);
  };
  if (size == outputs) return x;
  if (size % outputs == 0) {
    Shape shape = x.shape();
    shape[axis] = outputs;
    shape.insert(axis + 1, size / outputs);
    return reduced(reshape(x, shape), axis + 1, Keep::No);
  }
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t begin = i * size / outputs, end = ((i + 1) * size + outputs - 1) / outputs;
    parts.push_back(reduced(slice(x, axis, {begin, end}), axis, Keep::Yes));
  }
  return concat(parts, axis);
}

Tensor adaptive_pool(std::string_view op, int axes, const Arg& arg, const PerAxis& output, Statistic statistic) {
  const In frame(op, arg.loc);
  auto [x, is_batched] = input_of(op, axes, arg);
  const Dims outputs = output.expand(axes, 1, op, "output", arg.loc);
  if (numel(spatial(x.shape())) == 0) ops::refuse(op, "shape " + to_string(x.shape()), "spatial axes that are not empty", arg.loc);
  for (int i = 0; i < axes; ++i) x = adaptive_axis(x, i + 2, outputs[i], statistic);
  return graph::distinct(is_batched ? x : without_batch(x, arg.loc), arg.tensor(op), arg.loc);
}

Tensor global_pool(std::string_view op, const Arg& arg, Statistic statistic, AxisOrder layout = Layout::NCHW) {
  const In frame(op, arg.loc);
  const Tensor x = arg.tensor(op);
  const bool is_last = layout == Layout::NHWC;
  if (x.rank() < 3)
    ops::refuse(op, "shape " + to_string(x.shape()), is_last ? "(batch, spatial…, channels)" : "(batch, channels, spatial…)", arg.loc);
  Dims axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(is_last ? i - 1 : i);
  return statistic == Statistic::Mean ? mean(x, axes) : max(x, axes);
}

}  // namespace

PoolingProblem ops::max_pooling_of(std::string_view op, int axes, const Arg& x, const PerAxis& window, const MaxPoolOptions& options) {
  return problem_of(op, axes, x, Kinds::Numbers, window, options);
}

std::vector<Tensor> ops::max_pooled(const PoolingProblem& problem, const Line& where) {
  if (is_integer(problem.x.dtype())) return {max_of_integers(problem)};
  return pooling_nodes(PoolingKind::Max, false, problem.window, {problem.x}, problem.shape, where);
}

Number ops::lowest_of(DType dtype) {
  return visit(dtype, [](auto zero) -> Number {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
    else return -std::numeric_limits<double>::infinity();
  });
}

Tensor ops::pooling_windows(const Tensor& x, const PoolingProblem& problem, Number outside) {
  const Window& w = problem.window;
  Dims axes;
  for (int i = 0; i < w.axes(); ++i) axes.push_back(i + 2);
  const Tensor view = windows(padded(x, w, outside), axes, w.size, {.stride = w.stride, .dilation = w.dilation});
  return flatten(view, 2 + w.axes(), -1);
}

Tensor max_pool1d(Arg x, const PerAxis& window, const MaxPoolOptions& options) { return max_pool("max_pool1d", 1, x, window, options); }
Tensor max_pool2d(Arg x, const PerAxis& window, const MaxPoolOptions& options) { return max_pool("max_pool2d", 2, x, window, options); }
Tensor max_pool3d(Arg x, const PerAxis& window, const MaxPoolOptions& options) { return max_pool("max_pool3d", 3, x, window, options); }
Tensor avg_pool1d(Arg x, const PerAxis& window, const AveragePoolOptions& options) { return avg_pool("avg_pool1d", 1, x, window, options); }
Tensor avg_pool2d(Arg x, const PerAxis& window, const AveragePoolOptions& options) { return avg_pool("avg_pool2d", 2, x, window, options); }
Tensor avg_pool3d(Arg x, const PerAxis& window, const AveragePoolOptions& options) { return avg_pool("avg_pool3d", 3, x, window, options); }

Tensor adaptive_avg_pool1d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_avg_pool1d", 1, x, output, Statistic::Mean); }
Tensor adaptive_avg_pool2d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_avg_pool2d", 2, x, output, Statistic::Mean); }
Tensor adaptive_avg_pool3d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_avg_pool3d", 3, x, output, Statistic::Mean); }
Tensor adaptive_max_pool1d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_max_pool1d", 1, x, output, Statistic::Max); }
Tensor adaptive_max_pool2d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_max_pool2d", 2, x, output, Statistic::Max); }
Tensor adaptive_max_pool3d(Arg x, const PerAxis& output) { return adaptive_pool("adaptive_max_pool3d", 3, x, output, Statistic::Max); }

Tensor global_avg_pool(Arg x) { return global_pool("global_avg_pool", x, Statistic::Mean); }
Tensor global_max_pool(Arg x) { return global_pool("global_max_pool", x, Statistic::Max); }
Tensor global_avg_pool(Arg x, AxisOrder layout) { return global_pool("global_avg_pool", x, Statistic::Mean, layout); }
Tensor global_max_pool(Arg x, AxisOrder layout) { return global_pool("global_max_pool", x, Statistic::Max, layout); }

std::vector<OpCase> pooling_cases() {
  std::vector<OpCase> cases{
      {.op = "max_pool1d",
       .function = [](const auto& x) { return max_pool1d(x[0], 3, {.stride = 2, .padding = 1}); },
       .inputs = {{{2, 3, 9}}},
       .more_shapes = {{{3, 9}}}},
      {.op = "max_pool2d",
       .function = [](const auto& x) { return max_pool2d(x[0], 2); },
       .inputs = {{{2, 3, 6, 7}}},
       .more_shapes = {{{3, 5, 4}}, {{0, 3, 4, 4}}}},
      {.op = "max_pool2d",
       .function = [](const auto& x) { return max_pool2d(x[0], {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}); },
       .inputs = {{{2, 5, 6, 7}}}},
      {.op = "max_pool2d",
       .function = [](const auto& x) { return max_pool2d(x[0], 3, {.stride = 2, .ceil_mode = true}); },
       .inputs = {{{1, 2, 6, 8}}}},
      {.op = "max_pool2d",
       .function = [](const auto& x) { return max_pool2d(x[0], 3, {.stride = 2, .padding = Same}); },
       .inputs = {{{1, 2, 6, 7}}}},
      {.op = "max_pool2d",  // for windows this large no taps are kept
       .function = [](const auto& x) { return max_pool2d(x[0], 17, {.stride = 2, .padding = 1}); },
       .inputs = {{{1, 2, 17, 19}}}},
      {.op = "max_pool3d",
       .function = [](const auto& x) { return max_pool3d(x[0], {2, 3, 2}, {.stride = 1}); },
       .inputs = {{{1, 2, 3, 5, 4}}}},
      {.op = "max_pool2d",  // more padding than half a window
       .function = [](const auto& x) { return max_pool2d(x[0], 3, {.stride = 1, .padding = {2, 2}}); },
       .inputs = {{{1, 2, 3, 5}}}},
      {.op = "max_pool1d",
       .function = [](const auto& x) { return max_pool1d(x[0], 3, {.stride = 2, .padding = 4, .ceil_mode = true}); },
       .inputs = {{{2, 3, 8}, -90, 90}},
       .dtypes = kIntegers,
       .more_shapes = {{{3, 9}}, {{0, 3, 4}}},
       .gradient = false},
      {.op = "max_pool2d",
       .function = [](const auto& x) { return max_pool2d(x[0], {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}); },
       .inputs = {{{2, 5, 6, 7}, -90, 90}},
       .dtypes = kIntegers,
       .gradient = false},
      {.op = "max_pool3d",
       .function = [](const auto& x) { return max_pool3d(x[0], {2, 3, 2}, {.stride = 1, .padding = 1}); },
       .inputs = {{{1, 2, 3, 5, 4}, -90, 90}},
       .dtypes = kIntegers,
       .gradient = false},
      {.op = "avg_pool1d",
       .function = [](const auto& x) { return avg_pool1d(x[0], 3, {.stride = 1, .padding = 1}); },
       .inputs = {{{2, 3, 9}}}},
      {.op = "avg_pool2d",
       .function = [](const auto& x) { return avg_pool2d(x[0], 2); },
       .inputs = {{{2, 3, 6, 7}}},
       .more_shapes = {{{3, 5, 4}}}},
      {.op = "avg_pool2d",
       .function =
           [](const auto& x) { return avg_pool2d(x[0], {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .count_include_pad = false}); },
       .inputs = {{{2, 5, 6, 7}}}},
      {.op = "avg_pool2d",
       .function = [](const auto& x) { return avg_pool2d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true}); },
       .inputs = {{{1, 2, 6, 8}}}},
      {.op = "avg_pool2d",
       .function =
           [](const auto& x) {
             return avg_pool2d(x[0], {2, 3}, {.stride = {1, 2}, .padding = {3, 2}, .dilation = {2, 1}, .ceil_mode = true});
           },
       .inputs = {{{2, 3, 4, 6}}}},
      {.op = "avg_pool1d",
       .function = [](const auto& x) { return avg_pool1d(x[0], 3, {.padding = 2, .dilation = 2, .count_include_pad = false}); },
       .inputs = {{{2, 3, 9}}}},
      {.op = "avg_pool3d", .function = [](const auto& x) { return avg_pool3d(x[0], 2, {.stride = 1}); }, .inputs = {{{1, 2, 3, 5, 4}}}},
      {.op = "adaptive_avg_pool2d",
       .function = [](const auto& x) { return adaptive_avg_pool2d(x[0], {3, 2}); },
       .inputs = {{{2, 3, 6, 4}}},
       .more_shapes = {{{2, 3, 7, 5}}}},
      {.op = "adaptive_max_pool2d",
       .function = [](const auto& x) { return adaptive_max_pool2d(x[0], {3, 2}); },
       .inputs = {{{2, 3, 6, 4}}},
       .more_shapes = {{{2, 3, 7, 5}}}},
      {.op = "adaptive_avg_pool1d", .function = [](const auto& x) { return adaptive_avg_pool1d(x[0], 4); }, .inputs = {{{2, 3, 10}}}},
      {.op = "adaptive_max_pool1d", .function = [](const auto& x) { return adaptive_max_pool1d(x[0], 4); }, .inputs = {{{2, 3, 10}}}},
      {.op = "adaptive_avg_pool3d",
       .function = [](const auto& x) { return adaptive_avg_pool3d(x[0], {1, 2, 3}); },
       .inputs = {{{1, 2, 3, 4, 5}}}},
      {.op = "adaptive_max_pool3d",
       .function = [](const auto& x) { return adaptive_max_pool3d(x[0], {1, 2, 3}); },
       .inputs = {{{1, 2, 3, 4, 5}}}},
      unary_case("global_avg_pool", global_avg_pool, -2, 2),
      unary_case("global_max_pool", global_max_pool, -2, 2),
  };
  for (OpCase& one : cases) {
    if (!one.op.starts_with("global")) continue;
    one.inputs = {{{2, 3, 5, 4}}};
    one.more_shapes = {{{2, 3, 7}}, {{1, 2, 3, 4, 5}}};
  }
  return cases;
}

}  // namespace tegula
