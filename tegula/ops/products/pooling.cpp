#include "tegula/ops/products/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

/// As runtime::Pooling says; of the maximum, forward, the taps are the second result.
class PoolingOp final : public LibraryOp {
 public:
  PoolingOp(PoolingKind kind, bool backward, const Window& window) : kind_(kind), backward_(backward), window_(window) {}

  std::string_view name() const override {
    if (kind_ == PoolingKind::Max) return backward_ ? "max_pool_backward" : "max_pool";
    return backward_ ? "avg_pool_backward" : "avg_pool";
  }
  void attributes(Attributes& a) override {
    a.told_by_name(backward_);
    a.told_by_name(kind_ == PoolingKind::Max);
    bool counts_padding = kind_ == PoolingKind::AverageWithPadding;
    a("counts_padding", counts_padding);
    if (a.assigns() && kind_ != PoolingKind::Max)
      kind_ = counts_padding ? PoolingKind::AverageWithPadding : PoolingKind::AverageWithoutPadding;
    window_.attributes(a);
    if (const Signature* node = a.made_for()) a.require(fits(*node), "window");
  }
  Numerics numerics() const override { return Numerics::Either; }
  std::vector<Tensor> gradient(const Node& result, const Tensor& g, const std::vector<bool>& wanted) const override;
  std::vector<Tensor> gradients(const Node& result, std::span<const Tensor> gs, const std::vector<bool>& wanted) const override;

  runtime::CallDescription describe(const Setting& setting) const override {
    const std::span<const Layout> inputs = setting.inputs;
    const Layout& output = setting.results[0];
    if (kind_ == PoolingKind::Max && backward_ && !has_taps() && settle(inputs[0]) != settle(output)) {
      throw Error({.op = "max_pool_backward",
                   .got = "an input with strides " + to_string(inputs[0].strides),
                   .expected = "those of its gradient, " + to_string(output.strides)});
    }
    const Layout& small = backward_ ? inputs.back() : output;
    const Layout& large = backward_ ? output : inputs[0];
    return runtime::Pooling{.kind = kind_,
                            .backward = backward_,
                            .input = {setting.dtype, settle(large)},
                            .output = {setting.dtype, settle(small)},
                            .window = window_.size,
                            .stride = window_.stride,
                            .dilation = window_.dilation,
                            .pad_low = window_.low,
                            .pad_high = window_.high,
                            .wants_values = (setting.unwanted & 1) == 0,
                            .wants_taps = has_taps() && !backward_ && (setting.unwanted & 2) == 0,
                            .taps = {u8, has_taps() && backward_ ? settle(inputs[0]) : of_their_own(settle(small))}};
  }
  DType input_dtype(int index, DType result) const override { return backward_ && has_taps() && index == 0 ? u8 : result; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense() || lies_channels_last(layout); }
  /// All but taps, and tensors that must have another one's layout: in the search for maxima in the backward pass.
  bool takes_slice(const runtime::Device&, int which, const SlicePlace& slice) const override {
    constexpr std::size_t kAlignment = 16;  // bytes
    const bool searches = kind_ == PoolingKind::Max && backward_ && !has_taps();
    if (slice.dtype == u8 || (searches && which != 1) || !runs_are_aligned(slice, kAlignment)) return false;
    return with_room_between_images(slice.layout) || with_room_between_pixels(slice.layout);
  }
  // As the convolutions around it want their activations.
  std::uint32_t channels_last(runtime::Device& device, std::span<const Layout> inputs, const Shape& output, DType dtype) const override {
    const Shape& x = backward_ ? output : inputs[0].shape;
    Shape weight = Dims::filled(x.rank(), 1);
    weight[0] = weight[1] = x[1];
    const int axes = window_.axes();
    const runtime::Convolution neighbour{.input = {dtype, Layout::dense(x)},
                                         .weight = {dtype, Layout::dense(weight)},
                                         .output = {dtype, Layout::dense(x)},
                                         .stride = Dims::filled(axes, 1),
                                         .dilation = Dims::filled(axes, 1),
                                         .pad_low = Dims::filled(axes, 0),
                                         .pad_high = Dims::filled(axes, 0)};
    const std::vector<runtime::Candidate> ways = device.candidates(neighbour);
    if (ways.empty() || !lies_channels_last(std::get<runtime::Convolution>(ways.front().description).input.layout)) return 0;
    return (1u << 31) | (inputs.size() == 2 ? 3u : 1u);
  }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    return static_cast<double>(numel(backward_ ? inputs.back() : output)) * static_cast<double>(numel(window_.size));
  }

  void reference(std::span<const std::span<const double>> in, std::span<const Shape> shapes, std::span<double> result,
                 const Shape& shape) const override {
    const Shape& x = backward_ ? shape : shapes[0];
    const Shape& y = backward_ ? shapes.back() : shape;
    std::fill(result.begin(), result.end(), 0.0);
    const std::int64_t planes = x[0] * x[1], inputs = numel(spatial(x)), outputs = numel(spatial(y));
    for (std::int64_t i = 0; i < planes * outputs; ++i) {
      const std::vector<std::int64_t> inside = elements(spatial(x), spatial(y), i % outputs);
      const std::int64_t plane = i / outputs * inputs;
      const auto at = [&](std::int64_t element) { return static_cast<std::size_t>(plane + element); };
      const auto out = static_cast<std::size_t>(i);
      if (kind_ == PoolingKind::Max && backward_ && has_taps()) {
        if (in[0][out] != Pooling::kNoTap)
          result[at(element(spatial(x), spatial(y), i % outputs, static_cast<std::int64_t>(in[0][out])))] += in[1][out];
      } else if (kind_ == PoolingKind::Max) {
        const std::int64_t best = first_maximum(in[0].subspan(static_cast<std::size_t>(plane)), inside);
        if (!backward_) result[out] = best < 0 ? -std::numeric_limits<double>::infinity() : in[0][at(best)];
        else if (best >= 0) result[at(best)] += in[1][out];
      } else {
        const auto count =
            static_cast<double>(kind_ == PoolingKind::AverageWithPadding ? numel(window_.size) : static_cast<std::int64_t>(inside.size()));
        for (auto e : inside) {
          if (backward_) result[at(e)] += in[0][out] / count;
          else result[out] += in[0][at(e)] / count;
        }
      }
    }
  }

  void references(std::span<const std::span<const double>> in, std::span<const Shape> shapes,
                  std::span<const std::span<double>> results) const override {
    const Shape& x = shapes[0];
    Shape y{x[0], x[1]};
    for (int i = 0; i < window_.axes(); ++i) y.push_back(window_.output(i, x[i + 2]));
    reference(in, shapes, results[0], y);
    const Dims outputs = spatial(y);
    const std::int64_t inputs = numel(spatial(x));
    for (std::int64_t i = 0; i < std::ssize(results[1]); ++i) {
      const std::int64_t p = i % numel(outputs);
      const std::span<const double> plane = in[0].subspan(static_cast<std::size_t>(i / numel(outputs) * inputs));
      const std::int64_t best = first_maximum(plane, elements(spatial(x), outputs, p));
      std::int64_t tap = Pooling::kNoTap;
      for (std::int64_t q = numel(window_.size); best >= 0 && q-- > 0;)
        if (element(spatial(x), outputs, p, q) == best) tap = q;
      results[1][static_cast<std::size_t>(i)] = static_cast<double>(tap);
    }
  }

 private:
  /// True if operands and results are as pooling_node makes them.
  bool fits(const Signature& node) const {
    const bool taps = has_taps() && kind_ == PoolingKind::Max, both = backward_ && kind_ == PoolingKind::Max;
    const Result &x = backward_ ? node.results[0] : node.inputs[0], &y = backward_ ? node.inputs.back() : node.results[0];
    if (node.inputs.size() != (both ? 2u : 1u) || node.results.size() != (taps && !backward_ ? 2u : 1u)) return false;
    if (x.dtype != y.dtype || x.shape.rank() != window_.axes() + 2 || window_.axes() < 1 || window_.axes() > 3) return false;
    if (both && node.inputs[0] != (taps ? Result{y.shape, u8} : x)) return false;
    if (taps && !backward_ && node.results[1] != Result{y.shape, u8}) return false;
    Shape shape{x.shape[0], x.shape[1]};
    for (int i = 0; i < window_.axes(); ++i) shape.push_back(window_.output(i, x.shape[i + 2]));
    return window_.low.rank() == window_.axes() && shape == y.shape;
  }
  bool has_taps() const { return Pooling{.kind = kind_, .window = window_.size}.has_taps(); }
  /// In the same order.
  static Layout of_their_own(const Layout& values) { return without_room(values, memory_rows(values).value_or(MemoryRows{})); }
  /// The elements of `values` (x's shape) at the maxima, of which there are `shape`: the adjoint of the backward pass. `by` identifies
  /// the maxima: the taps, or x.
  Tensor gather_maxima(const Tensor& by, const Tensor& values, const Shape& shape) const;

  /// The offset of element q of window p in a plane of the input; -1 where it lies outside.
  std::int64_t element(const Dims& input, const Dims& output, std::int64_t p, std::int64_t q) const {
    std::int64_t offset = 0, stride = 1;
    bool inside = true;
    for (int i = window_.axes() - 1; i >= 0; --i) {
      const std::int64_t place = p % output[i] * window_.stride[i] + q % window_.size[i] * window_.dilation[i] - window_.low[i];
      inside = inside && place >= 0 && place < input[i];
      offset += place * stride;
      stride *= input[i];
      p /= output[i];
      q /= window_.size[i];
    }
    return inside ? offset : -1;
  }
  /// The offsets of the elements of window p that lie inside the input, in memory order.
  std::vector<std::int64_t> elements(const Dims& input, const Dims& output, std::int64_t p) const {
    std::vector<std::int64_t> out;
    for (std::int64_t q = 0; q < numel(window_.size); ++q) {
      if (const std::int64_t offset = element(input, output, p, q); offset >= 0) out.push_back(offset);
    }
    return out;
  }
  static std::int64_t first_maximum(std::span<const double> plane, const std::vector<std::int64_t>& inside) {
    const auto at = [&](std::int64_t offset) { return plane[static_cast<std::size_t>(offset)]; };
    std::int64_t best = inside.empty() ? -1 : inside[0];
    for (const std::int64_t e : inside)
      if (at(e) > at(best) || (std::isnan(at(e)) && !std::isnan(at(best)))) best = e;
    return best;
  }

  PoolingKind kind_;
  bool backward_;
  Window window_;
};

Tensor pooling_node(PoolingKind kind, bool backward, const Window& window, std::initializer_list<Tensor> inputs, const Shape& shape,
                    const Line& where) {
  const Ref<const Op> op(new PoolingOp(kind, backward, window));
  const Tensor& last = *(inputs.end() - 1);
  if (backward || !Pooling{.kind = kind, .window = window.size}.has_taps()) return make_node(op, inputs, shape, last.dtype(), where);
  const Result results[] = {{shape, last.dtype()}, {shape, u8}};
  return make_nodes(op, inputs, results, where)[0];
}

std::vector<Tensor> PoolingOp::gradient(const Node& result, const Tensor& g, const std::vector<bool>& wanted) const {
  const auto& where = result.origin().where;
  const Tensor x(result.inputs()[0]);
  if (kind_ != PoolingKind::Max) return {pooling_node(kind_, !backward_, window_, {g}, x.shape(), where)};
  if (!backward_) return {pooling_node(kind_, true, window_, {x, g}, x.shape(), where)};
  std::vector<Tensor> out(2);  // the choice of the maximum does not depend on x smoothly: nothing flows there
  if (wanted[1]) out[1] = gather_maxima(x, g, result.input(1).shape());
  return out;
}

std::vector<Tensor> PoolingOp::gradients(const Node& result, std::span<const Tensor> gs, const std::vector<bool>& wanted) const {
  if (backward_ || !has_taps()) return gradient(result, gs[0], wanted);
  return {pooling_node(kind_, true, window_, {graph::part(result, 1), gs[0]}, result.input(0).shape(), result.origin().where)};
}

Tensor PoolingOp::gather_maxima(const Tensor& by, const Tensor& values, const Shape& shape) const {
  std::vector<PadWidth> widths(2);
  Dims axes, flat = shape;
  for (int i = 0; i < window_.axes(); ++i) {
    const std::int64_t reached = (shape[i + 2] - 1) * window_.stride[i] + window_.dilation[i] * (window_.size[i] - 1) + 1;
    widths.push_back({window_.low[i], std::max<std::int64_t>(0, reached - values.shape()[i + 2] - window_.low[i])});
    axes.push_back(i + 2);
  }
  flat.push_back(numel(window_.size));
  const auto spread = [&](const Tensor& t, double outside) {  // (N, C, positions…, elements of the window)
    const Tensor padded = pad(t, widths, {.value = outside});
    return reshape(windows(padded, axes, window_.size, {.stride = window_.stride, .dilation = window_.dilation}), flat);
  };
  Shape single = shape;
  single.push_back(1);
  const Tensor place = has_taps() ? reshape(graph::cast(minimum(by, numel(window_.size) - 1), i64), single)  // any will do in the padding
                                  : argmax(spread(by, -std::numeric_limits<double>::infinity()), -1, Keep::Yes);
  return reshape(gather(spread(values, 0), -1, place), shape);
}

// The input of the public functions after the checks, with a batch axis added to (C, spatial…).
struct Input {
  Tensor x;
  bool batched;
};

Input input_of(std::string_view op, int axes, const Arg& arg) {
  const Tensor x = arg.tensor(op);
  if (!is_float(x.dtype()) || (x.rank() != axes + 1 && x.rank() != axes + 2)) {
    throw Error({.op = std::string(op),
                 .got = std::string(name(x.dtype())) + " of shape " + to_string(x.shape()),
                 .expected = "a float tensor (channels, spatial) with " + std::to_string(axes + 1) + " axes, or a batch of them with " +
                             std::to_string(axes + 2),
                 .where = origin_at(arg.loc).where});
  }
  const bool batched = x.rank() == axes + 2;
  return {batched ? x : with_batch(x, arg.loc), batched};
}

Shape pooled_shape(std::string_view op, const Tensor& x, const Window& window, PaddingRule rule, const Line& where) {
  Shape shape{x.shape()[0], x.shape()[1]};
  for (int i = 0; i < window.axes(); ++i) {
    if (rule == PaddingRule::Explicit && 2 * std::max(window.low[i], window.high[i]) > window.size[i]) {
      throw Error({.op = std::string(op),
                   .got = "padding " + to_string(window.low) + " and " + to_string(window.high),
                   .expected = "at most half of the window " + to_string(window.size),
                   .where = origin_at(where).where});
    }
    shape.push_back(window.output(i, x.shape()[i + 2]));
  }
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

Tensor max_pool(std::string_view op, int axes, const Arg& arg, const PerAxis& size, const MaxPoolOptions& options) {
  const In frame(op, arg.loc);
  auto [x, batched] = input_of(op, axes, Arg(ops::channels_first(arg.tensor(op), axes, options.layout, arg.loc), arg.loc));
  const Dims sizes = size.expand(axes, 1, op, "window", arg.loc);
  Window window = make_window(spatial(x.shape()), sizes, options.stride.given() ? options.stride : PerAxis(sizes), options.padding,
                              options.dilation, op, arg.loc);
  window.ceil = options.ceil_mode;
  const Shape shape = pooled_shape(op, x, window, options.padding.rule(), arg.loc);
  const Tensor y = pooling_node(PoolingKind::Max, false, reaching(window, x.shape(), shape), {x}, shape, arg.loc);
  return ops::channels_as(batched ? y : without_batch(y, arg.loc), axes, options.layout, arg.loc);
}

// With ceil_mode PyTorch divides by the part of the window inside the padded input; the device divides by the window.
Tensor overhang(const Tensor& y, const Window& window, const Shape& x, const Line& where) {
  Tensor product = y;
  const DType fine = y.dtype() == f64 ? f64 : f32;
  for (int i = 0; i < window.axes(); ++i) {
    const std::int64_t count = y.shape()[i + 2], size = window.size[i], end = x[i + 2] + window.high[i];
    if ((count - 1) * window.stride[i] - window.low[i] + size <= end) continue;  // the last one lies inside
    Shape shape = Dims::filled(window.axes() - i, 1);
    shape[0] = count;
    const Tensor begin = graph::index({{count}, {window.stride[i]}, -window.low[i]}, where);
    const Tensor inside = graph::cast(minimum(begin + size, end) - begin, fine, where);
    product = product * graph::reshape(graph::cast(static_cast<double>(size) / inside, y.dtype(), where), shape, where);
  }
  return product;
}

Tensor avg_pool(std::string_view op, int axes, const Arg& arg, const PerAxis& size, const AveragePoolOptions& options) {
  const In frame(op, arg.loc);
  auto [x, batched] = input_of(op, axes, Arg(ops::channels_first(arg.tensor(op), axes, options.layout, arg.loc), arg.loc));
  const Dims sizes = size.expand(axes, 1, op, "window", arg.loc);
  Window window =
      make_window(spatial(x.shape()), sizes, options.stride.given() ? options.stride : PerAxis(sizes), options.padding, 1, op, arg.loc);
  window.ceil = options.ceil_mode;
  const Shape shape = pooled_shape(op, x, window, options.padding.rule(), arg.loc);
  const auto kind = options.count_include_pad ? PoolingKind::AverageWithPadding : PoolingKind::AverageWithoutPadding;
  Tensor y = pooling_node(kind, false, reaching(window, x.shape(), shape), {x}, shape, arg.loc);
  if (options.count_include_pad && options.ceil_mode) y = overhang(y, window, x.shape(), arg.loc);
  return ops::channels_as(batched ? y : without_batch(y, arg.loc), axes, options.layout, arg.loc);
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
  auto [x, batched] = input_of(op, axes, arg);
  const Dims outputs = output.expand(axes, 1, op, "output", arg.loc);
  if (numel(spatial(x.shape())) == 0) ops::refuse(op, "shape " + to_string(x.shape()), "spatial axes that are not empty", arg.loc);
  for (int i = 0; i < axes; ++i) x = adaptive_axis(x, i + 2, outputs[i], statistic);
  return graph::distinct(batched ? x : without_batch(x, arg.loc), arg.tensor(op), arg.loc);
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

void add_pooling_ops(OpTable& table) {
  for (const PoolingKind kind : {PoolingKind::Max, PoolingKind::AverageWithPadding})
    for (const bool backward : {false, true})
      table.add_several<PoolingOp>(std::string(PoolingOp(kind, backward, {}).name()), OpTable::kAnyInputs, kind, backward, Window());
}

}  // namespace tegula
