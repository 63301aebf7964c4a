#include "tegula/cpu/calls/convolution.h"

#include <string>
#include <utility>
#include <vector>

#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/ways.h"
#include "tegula/cpu/calls/widened.h"
#include "tegula/runtime/checks.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

std::unique_ptr<runtime::Call> widened_convolution(Convolution d) {
  const DType dtype = d.dtype();
  d = d.in(f32);
  const HalfBuffer input{"input", d.input.layout, d.pass == ConvolutionPass::BackwardData},
      weight{"weight", d.weight.layout, d.pass == ConvolutionPass::BackwardWeight},
      output{"output", d.output.layout, d.pass == ConvolutionPass::Forward},
      bias{"bias", Layout::dense({d.output.layout.shape[1]}), d.pass != ConvolutionPass::Forward};
  std::vector<HalfBuffer> buffers;  // in the order of the call
  switch (d.pass) {
    case ConvolutionPass::Forward: buffers = {input, weight}; break;
    case ConvolutionPass::BackwardData: buffers = {output, weight, input}; break;
    case ConvolutionPass::BackwardWeight: buffers = {input, output, weight}; break;
  }
  if (has_bias(d)) buffers.push_back(bias);
  if (d.pass == ConvolutionPass::Forward) buffers.push_back(output);
  d.input.layout = widened_layout(d.input.layout), d.output.layout = widened_layout(d.output.layout);
  return make_widened(make_convolution(d), dtype, buffers);
}

/// The gradient of an image under a wide kernel: oneDNN's vectors of input channels would be nearly empty, a product with patches is
/// measured twice as fast (ResNet-50's first layer).
bool image_gradient(const Convolution& d) {
  const Geometry g(d);
  return d.pass == ConvolutionPass::BackwardData && g.groups == 1 && g.c <= 4 && g.taps() >= 25;
}

}  // namespace

Geometry::Geometry(const Convolution& d)
    : n(d.input.layout.shape[0]),
      c(d.input.layout.shape[1]),
      k(d.output.layout.shape[1]),
      groups(d.groups) {
  input = {d.input.layout.strides[0], d.input.layout.strides[1]};
  output = {d.output.layout.strides[0], d.output.layout.strides[1]};
  const int spatial = d.input.layout.shape.rank() - 2;
  for (int axis = 0; axis < spatial; ++axis) {
    const std::size_t to = 3 - static_cast<std::size_t>(spatial - axis);
    in[to] = d.input.layout.shape[axis + 2];
    out[to] = d.output.layout.shape[axis + 2];
    kernel[to] = d.weight.layout.shape[axis + 2];
    stride[to] = d.stride[axis];
    dilation[to] = d.dilation[axis];
    low[to] = d.pad_low[axis];
    high[to] = d.pad_high[axis];
    input.spatial[to] = d.input.layout.strides[axis + 2];
    output.spatial[to] = d.output.layout.strides[axis + 2];
  }
}

std::int64_t pixel_distance(std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides) {
  for (std::size_t axis = 3; axis-- > 0;) {
    if (size[axis] != 1) return strides.spatial[axis];
  }
  return n == 1 ? channels : strides.n;
}

bool lies_in_order(Order order, std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides) {
  const std::int64_t pixels = size[0] * size[1] * size[2];
  const bool last = order == Order::ChannelsLast;
  const std::int64_t pixel = last ? pixel_distance(n, channels, size, strides) : 1, image = last ? pixels * pixel : channels * pixels;
  const Axes3 dense{size[1] * size[2] * pixel, size[2] * pixel, pixel};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (size[axis] != 1 && strides.spatial[axis] != dense[axis]) return false;
  }
  if (channels != 1 && strides.c != (last ? 1 : pixels)) return false;
  return (!last || pixel >= channels) && (n == 1 || (last ? strides.n == image : strides.n >= image));
}

Order order_of(std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides) {
  for (const Order order : {Order::ChannelsFirst, Order::ChannelsLast}) {
    if (lies_in_order(order, n, channels, size, strides)) return order;
  }
  return Order::Other;
}

bool wants_blocks(const Geometry& g) {
  constexpr std::int64_t kBlock = 8, kVector = 16;
  const auto odd_blocks = [](std::int64_t channels) { return channels % kBlock == 0 && channels % kVector != 0; };
  return g.groups > 1 && odd_blocks(g.channels_per_group()) && odd_blocks(g.outputs_per_group());
}

void check_layout(const Convolution& d) {
  runtime::check(d);
  if (!d.weight.layout.is_dense())
    throw Error({.op = "convolution", .got = "weight strides " + to_string(d.weight.layout.strides), .expected = "a row-major weight"});
}

std::string to_string(const Convolution& d) {
  constexpr const char* kPasses[] = {"forward ", "backward data ", "backward weight "};
  const auto sizes = [](const Shape& shape) {
    std::string text;
    for (const auto size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
  };
  return kPasses[static_cast<int>(d.pass)] + sizes(d.input.layout.shape) + " * " + sizes(d.weight.layout.shape);
}

bool has_bias(const Convolution& d) { return d.bias_gradient || runtime::sums_of(d.epilogue).channel; }
bool has_relu(const Convolution& d) { return runtime::sums_of(d.epilogue).rest == runtime::relu(d.dtype()); }

bool onednn_suits(const Convolution& d) {
  if (d.pass != ConvolutionPass::BackwardWeight) return true;
  const Geometry g(d);
  return g.stride[0] == 1 || g.low[0] <= g.stride[0];
}

bool is_patchwork(const Convolution& d) { return d.dtype() == f64 || Geometry(d).empty(); }
bool is_half_convolution(const Convolution& d) { return is_half(d.dtype()); }
bool onednn_loses(const Convolution& d) { return image_gradient(d) || !onednn_suits(d); }
bool always(const Convolution&) { return true; }
bool has_blocks(const Convolution& d) { return static_cast<bool>(d.weight.blocks); }
/// True if oneDNN computes the convolution; it then also takes addends and limits.
bool onednn_wins(const Convolution& d) {
  return !is_half_convolution(d) && !is_patchwork(d) && !lanes_suit(d) && !planes_suit(d) && !pointwise_suits(d) && !onednn_loses(d);
}
bool is_followed(const Convolution& d) {
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  return (sums.tensor || !(sums.rest.is_empty() || has_relu(d))) && !onednn_wins(d);
}

constexpr Way<Convolution> kWays[] = {
    {has_blocks, make_onednn_convolution},
    {is_followed, make_followed_convolution},
    {is_half_convolution, [](const Convolution& d) { return widened_convolution(d); }},
    {is_patchwork, make_patch_convolution},
    {lanes_suit, make_lanes_convolution},
    {planes_suit, make_plane_convolution},
    {pointwise_suits, make_pointwise_convolution},
    {onednn_loses, make_patch_convolution},
    {always, make_onednn_convolution},
};

std::unique_ptr<runtime::Call> make_convolution(const Convolution& d) {
  check_layout(d);
  return make_first<Convolution>(kWays, d);
}

runtime::Blocked weight_blocks(const Convolution& d) {
  return onednn_wins(d) && d.weight.layout.is_dense() ? onednn_weight_blocks(d) : runtime::Blocked();
}

bool convolution_prefers_channels_last(const Convolution& d) {
  // oneDNN is fastest there; images in lanes take any order, and then no flatten or first layer has to transpose. Planes are as fast if they are
  // row-major, so operands keep their layout.
  Convolution first = d.in(f32);
  first.pass = ConvolutionPass::Forward;
  first.input.layout = Layout::dense(d.input.layout.shape);
  first.output.layout = Layout::dense(d.output.layout.shape);
  if (planes_suit(first)) return first.input.layout != d.input.layout || first.output.layout != d.output.layout;
  return !lanes_suit(first) && !wants_blocks(Geometry(first));
}

}  // namespace tegula::host
