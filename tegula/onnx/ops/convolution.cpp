// Convolution and its transpose.

#include "tegula/onnx/ops/convolution.h"
#include <algorithm>

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/window.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/images/unfold.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

Dims spatial_of(const Call& call, const Tensor& x, const Tensor& weight) {
  if (x.rank() < 3 || x.rank() > 5 || weight.rank() != x.rank())
    call.refuse("x of shape " + to_string(x.shape()) + " and a weight of shape " + to_string(weight.shape()),
                "(N, C, spatial…) with one to three spatial axes, and a weight of as many axes");
  return Dims(std::span(weight.shape().begin() + 2, static_cast<std::size_t>(x.rank() - 2)));
}

Tensor transposed(const Tensor& x, const Tensor& weight, const ConvolutionTransposeOptions& options) {
  if (x.rank() == 3) return conv_transpose1d(x, weight, options);
  return x.rank() == 4 ? conv_transpose2d(x, weight, options) : conv_transpose3d(x, weight, options);
}

/// Pads and sizes of the result, which output_shape or auto_pad may give.
Results convolved_transposed(const Call& call) {
  const Tensor x = call[0], weight = call[1];
  const Dims size = spatial_of(call, x, weight);
  const int axes = size.rank();
  NodeWindow window{size, per_axis(call, "strides", axes, 1, 1), per_axis(call, "dilations", axes, 1, 1), Dims::filled(axes, 0),
                    Dims::filled(axes, 0)};
  const Dims more = per_axis(call, "output_padding", axes, 0, 0);
  const std::string rule = call.text("auto_pad", "NOTSET");
  const bool is_same = rule == "SAME_UPPER" || rule == "SAME_LOWER";
  if (call.has("output_shape") || is_same) {
    Dims wanted = Dims::filled(axes, 0);
    if (call.has("output_shape")) {
      auto given = call.integers("output_shape");
      if (static_cast<int>(given.size()) == axes + 2) given.erase(given.begin(), given.begin() + 2);
      if (static_cast<int>(given.size()) != axes)
        call.refuse("output_shape of " + std::to_string(given.size()) + " numbers", std::to_string(axes));
      wanted = dims_of(call, given);
    } else {
      for (int i = 0; i < axes; ++i) wanted[i] = x.size(i + 2) * window.stride[i];
    }
    for (int i = 0; i < axes; ++i) {
      const std::int64_t total = (x.size(i + 2) - 1) * window.stride[i] + more[i] + window.reach(i) - wanted[i];
      window.low[i] = total < 0 ? 0 : rule == "SAME_UPPER" ? total / 2 : total - total / 2;  // what lacks is added behind
      window.high[i] = total - window.low[i];
    }
  } else if (rule == "NOTSET" || rule == "VALID" || rule.empty()) {
    window = window_of(call, x.shape(), size);
  } else {
    call.refuse("auto_pad = " + rule, "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  ConvolutionTransposeOptions options{.stride = window.stride, .groups = call.integer("group", 1), .dilation = window.dilation};
  Tensor out;
  if (!window.has_negative_pads() && more == Dims::filled(axes, 0)) {
    options.padding = Padding::sides(window.low, window.high);
    out = transposed(x, weight, options);
  } else {  // elements that no window reaches are 0
    NodeWindow around = window;
    for (int i = 0; i < axes; ++i) around.low[i] = -window.low[i], around.high[i] = more[i] - window.high[i];
    out = padded(transposed(x, weight, options), around);
  }
  return call.has(2) ? out + along(call[2], 1, out.rank()) : out;
}

Results from_columns(const Call& call) {
  const Tensor x = call[0];
  const Dims image = shape_of(call, call.integers(1)), block = shape_of(call, call.integers(2));
  if (x.rank() != 3 || block.rank() != image.rank())
    call.refuse("columns of shape " + to_string(x.shape()) + " and blocks of " + std::to_string(block.rank()) + " axes",
                "(N, C * block elements, blocks) and blocks of " + std::to_string(image.rank()) + " axes");
  Shape shape{1, 1};
  for (const std::int64_t size : image) shape.push_back(size);
  const NodeWindow window = window_of(call, shape, block);
  return fold(
      x, image, block,
      {.stride = window.stride, .padding = Padding::sides(window.low, window.high), .dilation = window.dilation, .axes = image.rank()});
}

constexpr std::string_view kAttributes = "auto_pad dilations group kernel_shape pads strides";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Conv", [](Call& c) -> Results { return convolved(c, c[0], c[1], c.maybe(2)); }, kAttributes},
    {"ConvTranspose", [](Call& c) -> Results { return convolved_transposed(c); }, "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Col2Im", [](Call& c) -> Results { return from_columns(c); }, "dilations pads strides", looked({1, 2})},
};
// clang-format on

}  // namespace

Convolved convolution_of(const Call& call, const Tensor& given, const Tensor& weight) {
  const Dims size = spatial_of(call, given, weight);
  NodeWindow window = window_of(call, given.shape(), size);
  Tensor x = given;
  if (call.text("auto_pad").starts_with("SAME")) {  // a convolution takes nothing away
    for (int i = 0; i < window.axes(); ++i)
      window.low[i] = std::max<std::int64_t>(window.low[i], 0), window.high[i] = std::max<std::int64_t>(window.high[i], 0);
  }
  if (window.has_negative_pads()) {
    x = padded(x, window);
    window.low = window.high = Dims::filled(size.rank(), 0);
  }
  return {x,
          {.stride = window.stride,
           .padding = Padding::sides(window.low, window.high),
           .dilation = window.dilation,
           .groups = call.integer("group", 1)}};
}

Tensor convolved(const Call& call, const Tensor& given, const Tensor& weight, const Tensor& bias) {
  const auto [x, options] = convolution_of(call, given, weight);
  if (x.rank() == 3) return bias.defined() ? conv1d(x, weight, bias, options) : conv1d(x, weight, options);
  if (x.rank() == 4) return bias.defined() ? conv2d(x, weight, bias, options) : conv2d(x, weight, options);
  return bias.defined() ? conv3d(x, weight, bias, options) : conv3d(x, weight, options);
}

Operators convolution_operators() { return kOperators; }

}  // namespace tegula::onnx
