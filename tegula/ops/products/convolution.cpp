#include "tegula/ops/products/convolution.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/convolution_problem.h"
#include "tegula/ops/products/convolution_tiles.h"
#include "tegula/ops/products/depthwise.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

using runtime::ConvolutionPass;

/// One of the three sums over (x, weight, y); each is linear in both of its inputs, and its gradients are the other two.
///   Forward (x, w) -> y    BackwardData (y, w) -> x    BackwardWeight (x, y) -> w
class ConvolutionOp final : public LibraryOp, public InTiles {
 public:
  ConvolutionOp(ConvolutionPass pass, const Window& window, std::int64_t groups) : pass_(pass), window_(window), groups_(groups) {}

  std::string_view name() const override {
    constexpr std::string_view names[] = {"convolution", "convolution_backward_data", "convolution_backward_weight"};
    return names[static_cast<int>(pass_)];
  }
  void attributes(Attributes& a) override {
    a.told_by_name(pass_);
    a("groups", groups_);
    window_.attributes(a);
    if (const Signature* node = a.made_for()) {
      const Result &first = node->inputs[0], &second = node->inputs[1], &result = node->results[0];
      a.require(first.dtype == result.dtype && second.dtype == result.dtype, "dtype");
      const bool forward = pass_ == ConvolutionPass::Forward, to_weight = pass_ == ConvolutionPass::BackwardWeight;
      const Shape &x = forward || to_weight ? first.shape : result.shape, &w = to_weight ? result.shape : second.shape;
      a.require(ops::fits_convolution(window_, groups_, x, w, forward ? result.shape : to_weight ? second.shape : first.shape), "window");
    }
  }

  std::vector<Tensor> gradient(const Node& result, const Tensor& g, const std::vector<bool>& wanted) const override {
    const Tensor a(result.inputs()[0]), b(result.inputs()[1]);
    const auto with = [&](ConvolutionPass pass, const Tensor& first, const Tensor& second, const Tensor& like) {
      return make_node(Ref<const Op>(new ConvolutionOp(pass, window_, groups_)), {first, second}, like.shape(), like.dtype(),
                       result.origin().where);
    };
    std::vector<Tensor> out(2);
    switch (pass_) {
      case ConvolutionPass::Forward:
        if (wanted[0]) out[0] = with(ConvolutionPass::BackwardData, g, b, a);
        if (wanted[1]) out[1] = with(ConvolutionPass::BackwardWeight, a, g, b);
        break;
      case ConvolutionPass::BackwardData:
        if (wanted[0]) out[0] = with(ConvolutionPass::Forward, g, b, a);
        if (wanted[1]) out[1] = with(ConvolutionPass::BackwardWeight, g, a, b);
        break;
      case ConvolutionPass::BackwardWeight:
        if (wanted[0]) out[0] = with(ConvolutionPass::BackwardData, b, g, a);
        if (wanted[1]) out[1] = with(ConvolutionPass::Forward, a, g, b);
        break;
    }
    return out;
  }

  runtime::CallDescription describe(const Setting& setting) const override {
    return describe(setting.inputs[0], setting.inputs[1], setting.results[0], setting.dtype);
  }
  bool accepts(const runtime::Device& device, int index, const Layout& layout) const override {
    const bool is_weight = pass_ != ConvolutionPass::BackwardWeight && index == 1;
    return layout.is_dense() || ((!is_weight || device.traits().layouts.weights_channels_last) && lies_channels_last(layout));
  }
  bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const override {
    const bool is_weight = which == (pass_ == ConvolutionPass::BackwardWeight ? kResult : 1);
    const runtime::LayoutRules& rules = device.traits().layouts;
    if (is_weight || !runs_are_aligned(slice, rules.alignment)) return false;
    if (with_room_between_images(slice.layout)) return true;
    return with_room_between_pixels(slice.layout) && (which <= kResult || rules.reads_pixels_apart);
  }
  /// A group for each channel, on devices whose kernels are made: those of the libraries take longer to make than to run
  /// for an epoch.
  std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const override {
    const Shape &first = inputs[0].shape(), &second = inputs[1].shape();
    const bool is_depthwise = ops::describes_depthwise(first, pass_ == ConvolutionPass::BackwardWeight ? shape : second, groups_);
    if (!is_depthwise || !device.traits().many_instances) return {};
    const auto way = best(device, describe(Layout::dense(first), Layout::dense(second), Layout::dense(shape), inputs[0].dtype()));
    if (!way || way->input.layout != Layout::channels_last(way->input.layout.shape)) return {};
    return {ops::depthwise(pass_, window_, inputs[0], inputs[1], shape)};
  }
  const InTiles* in_tiles() const override { return this; }
  std::vector<TileWay> ways_in_tiles(const runtime::CallDescription& call, const Operands& operands,
                                     const tile::TilePreference& tiles) const override {
    return ops::convolution_ways(std::get<runtime::Convolution>(call), window_, operands, tiles.instances);
  }
  int bias_axis() const override { return pass_ == ConvolutionPass::Forward ? 1 : -1; }
  int weight_axis() const override { return pass_ == ConvolutionPass::Forward ? 0 : -1; }
  std::uint32_t channels_last(runtime::Device& device, std::span<const Layout> inputs, const Shape& output, DType dtype) const override {
    const auto way = best(device, describe(inputs[0], inputs[1], Layout::dense(output), dtype));
    if (!way) return 0;
    const bool data = pass_ == ConvolutionPass::BackwardData, weight = pass_ == ConvolutionPass::BackwardWeight;
    const Layout &first = (data ? way->output : way->input).layout, &second = (weight ? way->output : way->weight).layout;
    // A weight's gradient is row-major like the Variable that it changes: the optimiser then walks all of them alike.
    const bool result = !weight && lies_channels_last((data ? way->input : way->output).layout);
    return (lies_channels_last(first) ? 1u : 0u) | (lies_channels_last(second) ? 2u : 0u) | (result ? 1u << 31 : 0u);
  }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    const Shape& weight = pass_ == ConvolutionPass::BackwardWeight ? output : inputs[1];
    const Shape& y = pass_ == ConvolutionPass::Forward ? output : inputs[pass_ == ConvolutionPass::BackwardData ? 0 : 1];
    return 2.0 * static_cast<double>(numel(y)) * static_cast<double>(numel(weight)) /
           static_cast<double>(std::max<std::int64_t>(weight[0], 1));
  }

  void reference(std::span<const std::span<const double>> in, std::span<const Shape> shapes, std::span<double> result,
                 const Shape& shape) const override {
    const Shape& x = pass_ == ConvolutionPass::BackwardData ? shape : shapes[0];
    const Shape& w = pass_ == ConvolutionPass::BackwardWeight ? shape : shapes[1];
    const Shape& y = pass_ == ConvolutionPass::Forward ? shape : shapes[pass_ == ConvolutionPass::BackwardData ? 0 : 1];
    std::fill(result.begin(), result.end(), 0.0);
    for_each_product(x, w, y, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
      switch (pass_) {
        case ConvolutionPass::Forward: result[iy] += in[0][ix] * in[1][iw]; break;
        case ConvolutionPass::BackwardData: result[ix] += in[0][iy] * in[1][iw]; break;
        case ConvolutionPass::BackwardWeight: result[iw] += in[0][ix] * in[1][iy]; break;
      }
    });
  }

 private:
  /// Returns the device's best form of the convolution, or nothing if it has none.
  static std::optional<runtime::Convolution> best(const runtime::Device& device, const runtime::Convolution& asked) {
    const std::vector<runtime::Candidate> ways = device.candidates(asked);
    if (ways.empty()) return std::nullopt;
    return std::get<runtime::Convolution>(ways.front().description);
  }
  runtime::Convolution describe(const Layout& first, const Layout& second, const Layout& output, DType dtype) const {
    runtime::Convolution d{.pass = pass_,
                           .stride = window_.stride,
                           .dilation = window_.dilation,
                           .pad_low = window_.low,
                           .pad_high = window_.high,
                           .groups = groups_};
    runtime::Operand a{dtype, settle(first)}, b{dtype, settle(second)}, c{dtype, settle(output)};
    switch (pass_) {
      case ConvolutionPass::Forward: d.input = a, d.weight = b, d.output = c; break;
      case ConvolutionPass::BackwardData: d.output = a, d.weight = b, d.input = c; break;
      case ConvolutionPass::BackwardWeight: d.input = a, d.output = b, d.weight = c; break;
    }
    return d;
  }

  // f(offset in x, offset in w, offset in y) for every product of the sum; all row-major.
  template <class F>
  void for_each_product(const Shape& x, const Shape& w, const Shape& y, F&& f) const {
    const int axes = window_.axes();
    const std::int64_t per_group = w[0] / groups_;
    const std::int64_t pixels = numel(spatial(y)), taps = numel(spatial(w)), inputs = numel(spatial(x));
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t q = 0; q < taps; ++q) {
        std::int64_t at = 0, rest_p = p, rest_q = q, stride = 1;
        bool inside = true;
        for (int i = axes - 1; i >= 0; --i) {
          const std::int64_t place = rest_p % y[i + 2] * window_.stride[i] + rest_q % w[i + 2] * window_.dilation[i] - window_.low[i];
          inside = inside && place >= 0 && place < x[i + 2];
          at += place * stride;
          stride *= x[i + 2];
          rest_p /= y[i + 2];
          rest_q /= w[i + 2];
        }
        if (!inside) continue;
        for (std::int64_t n = 0; n < x[0]; ++n) {
          for (std::int64_t o = 0; o < w[0]; ++o) {
            for (std::int64_t c = 0; c < w[1]; ++c) {
              const std::int64_t channel = o / per_group * w[1] + c;
              f(static_cast<std::size_t>((n * x[1] + channel) * inputs + at), static_cast<std::size_t>((o * w[1] + c) * taps + q),
                static_cast<std::size_t>((n * w[0] + o) * pixels + p));
            }
          }
        }
      }
    }
  }

  ConvolutionPass pass_;
  Window window_;
  std::int64_t groups_;
};

Tensor convolution_node(ConvolutionPass pass, const Window& window, std::int64_t groups, const Tensor& a, const Tensor& b,
                        const Shape& shape, const Line& where) {
  return make_node(Ref<const Op>(new ConvolutionOp(pass, window, groups)), {a, b}, shape, a.dtype(), where);
}

// The user's shape again, after with_batch added an axis.
Shape spatial_with_channels(Shape shape) {
  shape.erase(0);
  return shape;
}

struct Operands {
  Tensor x, weight;
  bool batched;
};

[[noreturn]] void refuse(std::string_view op, const Tensor& x, const Tensor& weight, std::string expected, const Line& where) {
  throw Error({.op = std::string(op),
               .got = "shapes " + to_string(x.shape()) + " and " + to_string(weight.shape()),
               .expected = std::move(expected),
               .where = origin_at(where).where});
}

Operands operands(std::string_view op, int axes, const Arg& input, const Arg& matrix) {
  Tensor x = input.tensor(op), weight = matrix.tensor(op);
  const DType dtype = promote(x.dtype(), weight.dtype());
  if (!is_float(x.dtype()) || !is_float(weight.dtype())) {
    throw Error({.op = std::string(op),
                 .got = "dtypes " + std::string(name(x.dtype())) + " and " + std::string(name(weight.dtype())),
                 .expected = "float tensors",
                 .advice = "cast(x, f32)",
                 .where = origin_at(input.loc).where});
  }
  x = graph::cast(x, dtype, input.loc);
  weight = graph::cast(weight, dtype, input.loc);
  const std::string wanted = "x with " + std::to_string(axes + 1) + " axes (channels, spatial) or " + std::to_string(axes + 2) +
                             " (batch in front), and a weight with " + std::to_string(axes + 2);
  if (weight.rank() != axes + 2 || (x.rank() != axes + 1 && x.rank() != axes + 2)) refuse(op, x, weight, wanted, input.loc);
  const bool batched = x.rank() == axes + 2;
  return {batched ? x : with_batch(x, input.loc), weight, batched};
}

Tensor with_bias(std::string_view op, Tensor y, const Arg* bias, const Line& where) {
  if (!bias) return y;
  const Tensor b = graph::cast(bias->tensor(op), y.dtype(), where);
  if (b.shape() != Shape{y.shape()[1]}) {
    ops::refuse(op, "a bias of shape " + to_string(b.shape()),
                "one element for each of the " + std::to_string(y.shape()[1]) + " output channels", where);
  }
  Shape shape = Dims::filled(y.rank() - 1, 1);
  shape[0] = b.numel();
  return y + graph::reshape(b, shape, where);
}

}  // namespace

bool ops::fits_convolution(const Window& window, std::int64_t groups, const Shape& x, const Shape& weight, const Shape& y) {
  const int axes = window.axes();
  if (axes < 1 || axes > 3 || groups < 1 || window.stride.rank() != axes || window.low.rank() != axes) return false;
  for (const Shape* one : {&x, &weight, &y})
    if (one->rank() != axes + 2) return false;
  Shape expected{x[0], weight[0]};
  for (int i = 0; i < axes; ++i) expected.push_back(window.output(i, x[i + 2]));
  return y == expected && x[1] == weight[1] * groups && weight[0] % groups == 0 && spatial(weight) == window.size;
}

Ref<const Op> ops::convolution_op(const Window& window) { return make<const ConvolutionOp>(ConvolutionPass::Forward, window, 1); }

namespace ops {

ConvolutionProblem convolution_problem(std::string_view op, int axes, const Arg& input, const Arg& matrix,
                                       const ConvolutionOptions& options) {
  const auto& where = input.loc;
  auto [x, weight, batched] = operands(op, axes, input, matrix);
  const std::int64_t groups = options.groups;
  if (groups < 1 || x.shape()[1] != weight.shape()[1] * groups || weight.shape()[0] % groups != 0) {
    throw Error({.op = std::string(op),
                 .got = "shapes " + to_string(batched ? x.shape() : spatial_with_channels(x.shape())) + " and " + to_string(weight.shape()),
                 .expected = "weight (O, I/groups, …) with I = " + std::to_string(x.shape()[1]) +
                             " input channels and O divisible by groups = " + std::to_string(groups),
                 .advice = batched ? "" : "without a batch axis, axis 0 counts the channels; expand_dims(x, 1) gives a batch one channel",
                 .where = origin_at(where).where});
  }
  const Window window =
      make_window(spatial(x.shape()), spatial(weight.shape()), options.stride, options.padding, options.dilation, op, where);
  Shape shape{x.shape()[0], weight.shape()[0]};
  for (int i = 0; i < axes; ++i) shape.push_back(window.output(i, x.shape()[i + 2]));
  if (numel(spatial(shape)) == 0 || numel(weight.shape()) == 0) {
    tegula::refuse(op, x, weight,
                   "a window that is not empty and not larger than the padded input (padding " + to_string(window.low) + " and " +
                       to_string(window.high) + ", dilation " + to_string(window.dilation) + ")",
                   where);
  }
  return {x, weight, window, shape, batched, Ref<const Op>(new ConvolutionOp(ConvolutionPass::Forward, window, groups))};
}

}  // namespace ops

namespace {

Tensor convolve(std::string_view op, int axes, const Arg& input, const Arg& matrix, const Arg* bias, const ConvolutionOptions& options) {
  const In frame(op, input.loc);
  const auto& where = input.loc;
  const Arg x(ops::channels_first(input.tensor(op), axes, options.layout, where), where);
  const ops::ConvolutionProblem p = ops::convolution_problem(op, axes, x, matrix, options);
  const Tensor y = with_bias(op, make_node(p.library, {p.x, p.weight}, p.shape, p.x.dtype(), where), bias, where);
  return ops::channels_as(p.batched ? y : without_batch(y, where), axes, options.layout, where);
}

Tensor convolve_transposed(std::string_view op, int axes, const Arg& input, const Arg& matrix, const Arg* bias,
                           const ConvolutionTransposeOptions& options) {
  const In frame(op, input.loc);
  const auto& where = input.loc;
  auto [x, weight, batched] = operands(op, axes, Arg(ops::channels_first(input.tensor(op), axes, options.layout, where), where), matrix);
  const std::int64_t groups = options.groups;
  if (groups < 1 || x.shape()[1] != weight.shape()[0] || weight.shape()[0] % groups != 0) {
    refuse(op, x, weight,
           "weight (I, O/groups, …) with I = " + std::to_string(x.shape()[1]) +
               " input channels, divisible by groups = " + std::to_string(groups),
           where);
  }
  if (options.padding.rule() == PaddingRule::Same) {
    throw Error({.op = std::string(op),
                 .got = "padding Same",
                 .expected = "explicit padding or Valid",
                 .advice = "padding and output_padding choose among the output sizes that a stride allows",
                 .where = origin_at(where).where});
  }
  const Dims size = spatial(weight.shape());
  Window window = make_window(spatial(x.shape()), size, options.stride, options.padding, options.dilation, op, where);
  const Dims extra = options.output_padding.expand(axes, 0, op, "output_padding", where);
  Shape shape{x.shape()[0], weight.shape()[1] * groups}, whole = shape;
  for (int i = 0; i < axes; ++i) {
    if (extra[i] >= std::max(window.stride[i], window.dilation[i])) {
      throw Error({.op = std::string(op),
                   .got = "output_padding " + to_string(extra),
                   .expected = "less than the stride " + to_string(window.stride) + " or the dilation " + to_string(window.dilation),
                   .where = origin_at(where).where});
    }
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(x.shape()[i + 2] - 1, window.stride[i], &reach)) reach = std::int64_t{1} << 61;  // refused as uncountable
    const std::int64_t length = reach - window.low[i] - window.high[i] + window.dilation[i] * (size[i] - 1) + extra[i] + 1;
    if (length < 1)
      refuse(op, x, weight, "an output that is not empty (padding " + to_string(window.low) + " and " + to_string(window.high) + ")",
             where);
    // If output_padding is a stride or more, it would make room for another position of the window: the other padding is reduced instead, and
    // elements that no position reaches become zeros after the result.
    const std::int64_t zeros = extra[i] >= window.stride[i] ? std::max<std::int64_t>(extra[i] - window.high[i], 0) : 0;
    if (extra[i] >= window.stride[i]) window.high[i] = std::max<std::int64_t>(window.high[i] - extra[i], 0);
    shape.push_back(length - zeros);
    whole.push_back(length);
  }
  Tensor y = convolution_node(ConvolutionPass::BackwardData, window, groups, x, weight, shape, where);
  y = ops::embed(y, Dims::filled(y.rank(), 0), Dims::filled(y.rank(), 1), whole, 0, where);
  y = with_bias(op, y, bias, where);
  return ops::channels_as(batched ? y : without_batch(y, where), axes, options.layout, where);
}

}  // namespace

Tensor conv1d(Arg x, Arg weight, const ConvolutionOptions& options) { return convolve("conv1d", 1, x, weight, nullptr, options); }
Tensor conv1d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options) { return convolve("conv1d", 1, x, weight, &bias, options); }
Tensor conv2d(Arg x, Arg weight, const ConvolutionOptions& options) { return convolve("conv2d", 2, x, weight, nullptr, options); }
Tensor conv2d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options) { return convolve("conv2d", 2, x, weight, &bias, options); }
Tensor conv3d(Arg x, Arg weight, const ConvolutionOptions& options) { return convolve("conv3d", 3, x, weight, nullptr, options); }
Tensor conv3d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options) { return convolve("conv3d", 3, x, weight, &bias, options); }

Tensor conv_transpose1d(Arg x, Arg weight, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose1d", 1, x, weight, nullptr, options);
}
Tensor conv_transpose1d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose1d", 1, x, weight, &bias, options);
}
Tensor conv_transpose2d(Arg x, Arg weight, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose2d", 2, x, weight, nullptr, options);
}
Tensor conv_transpose2d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose2d", 2, x, weight, &bias, options);
}
Tensor conv_transpose3d(Arg x, Arg weight, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose3d", 3, x, weight, nullptr, options);
}
Tensor conv_transpose3d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options) {
  return convolve_transposed("conv_transpose3d", 3, x, weight, &bias, options);
}

std::vector<OpCase> convolution_cases() {
  constexpr double kSums = 64;
  const auto conv = [](Tensor (*function)(Arg, Arg, Arg, const ConvolutionOptions&), const ConvolutionOptions& options) {
    return [=](const std::vector<Tensor>& x) { return function(x[0], x[1], x[2], options); };
  };
  const auto transposed = [](Tensor (*function)(Arg, Arg, Arg, const ConvolutionTransposeOptions&),
                             const ConvolutionTransposeOptions& options) {
    return [=](const std::vector<Tensor>& x) { return function(x[0], x[1], x[2], options); };
  };
  std::vector<OpCase> cases{
      {.op = "conv1d",
       .function = conv(conv1d, {.padding = 1}),
       .inputs = {{{2, 3, 9}}, {{4, 3, 3}}, {{4}}},
       .more_shapes = {{{3, 9}, {4, 3, 3}, {4}}}},
      {.op = "conv1d",
       .function = conv(conv1d, {.stride = 2, .padding = Same, .dilation = 2}),
       .inputs = {{{1, 2, 8}}, {{2, 2, 3}}, {{2}}}},
      {.op = "conv2d",
       .function = conv(conv2d, {}),
       .inputs = {{{2, 3, 5, 7}}, {{4, 3, 3, 2}}, {{4}}},
       .more_shapes = {{{3, 5, 7}, {4, 3, 3, 2}, {4}},
                       {{1, 1, 1, 1}, {1, 1, 1, 1}, {1}},
                       {{2, 17, 6, 5}, {19, 17, 1, 1}, {19}},
                       {{0, 3, 5, 7}, {4, 3, 3, 2}, {4}}}},
      {.op = "conv2d",
       .function = conv(conv2d, {.stride = {2, 1}, .padding = Padding::sides({1, 0}, {2, 1}), .dilation = {1, 2}}),
       .inputs = {{{2, 3, 6, 7}}, {{2, 3, 3, 2}}, {{2}}}},
      {.op = "conv2d",
       .function = conv(conv2d, {.stride = 2, .padding = Same, .groups = 2}),
       .inputs = {{{2, 4, 7, 6}}, {{6, 2, 3, 3}}, {{6}}}},
      {.op = "conv2d", .function = conv(conv2d, {.padding = 1, .groups = 4}), .inputs = {{{1, 4, 5, 5}}, {{4, 1, 3, 3}}, {{4}}}},
      {.op = "conv2d",
       .function = conv(conv2d, {.padding = 1, .dilation = {1, 2}, .groups = 2}),
       .inputs = {{{2, 2, 3, 19}}, {{2, 1, 3, 2}}, {{2}}}},
      {.op = "conv3d",
       .function = conv(conv3d, {.stride = {1, 2, 1}, .padding = {1, 0, 1}}),
       .inputs = {{{1, 2, 3, 5, 4}}, {{3, 2, 2, 3, 3}}, {{3}}}},
      {.op = "conv_transpose1d",
       .function = transposed(conv_transpose1d, {.stride = 2, .padding = 1, .output_padding = 1}),
       .inputs = {{{2, 3, 5}}, {{3, 4, 3}}, {{4}}},
       .more_shapes = {{{3, 5}, {3, 4, 3}, {4}}}},
      {.op = "conv_transpose2d",
       .function = transposed(conv_transpose2d, {.stride = {2, 1}, .groups = 2, .dilation = {1, 2}}),
       .inputs = {{{1, 4, 3, 4}}, {{4, 3, 3, 2}}, {{6}}}},
      {.op = "conv_transpose2d", .function = transposed(conv_transpose2d, {}), .inputs = {{{2, 3, 4, 4}}, {{3, 2, 3, 3}}, {{2}}}},
      {.op = "conv_transpose3d",
       .function = transposed(conv_transpose3d, {.stride = 2}),
       .inputs = {{{1, 2, 2, 3, 2}}, {{2, 2, 2, 2, 3}}, {{2}}}},
  };
  for (OpCase& one : cases) one.tolerance = kSums;
  return cases;
}

void add_convolution_ops(OpTable& table) {
  for (const auto pass : {ConvolutionPass::Forward, ConvolutionPass::BackwardData, ConvolutionPass::BackwardWeight})
    table.add_class<ConvolutionOp>(std::string(ConvolutionOp(pass, {}, 1).name()), 2, pass, Window(), 1);
}

}  // namespace tegula
