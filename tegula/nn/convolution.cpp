#include "tegula/nn/convolution.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/nn/init.h"

namespace tegula::nn {
namespace {

constexpr std::string_view kConv[] = {"Conv1d", "Conv2d", "Conv3d"};
constexpr std::string_view kConvTranspose[] = {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"};

void require_groups(std::string_view layer, std::int64_t in, std::int64_t out, std::int64_t groups, const Line& where) {
  require_positive(layer, {{"in_channels", in}, {"out_channels", out}, {"groups", groups}}, where);
  if (in % groups == 0 && out % groups == 0) return;
  throw Error({.op = std::string(layer),
               .got = std::to_string(in) + " and " + std::to_string(out) + " channels in " + std::to_string(groups) + " groups",
               .expected = "groups to divide both",
               .where = origin_at(where).where});
}

/// Channels lie behind the batch, ahead of the spatial axes or behind them; x may have no batch axis.
void require_channels(std::string_view layer, const Tensor& x, int axes, AxisOrder layout, std::int64_t expected, const Line& where) {
  const Shape& shape = x.shape(where);
  const int first = shape.rank() - axes - 1, axis = layout == Layout::NHWC ? shape.rank() - 1 : first;
  if (first < 0 || first > 1 || shape[axis] == expected) return;  // the op speaks of other ranks
  if (layout == Layout::NHWC) {
    throw Error({.op = std::string(layer),
                 .got = "an input of shape " + to_string(shape),
                 .expected = std::to_string(expected) + " channels in axis " + std::to_string(axis),
                 .advice = shape[first] == expected ? "without .layout = Layout::NHWC channels come ahead of the spatial axes" : "",
                 .where = origin_at(where).where});
  }
  std::string order;
  for (int i = 0; i < shape.rank(); ++i) order += (i > 0 ? ", " : "") + std::to_string(i < axis ? i : i == axis ? shape.rank() - 1 : i - 1);
  throw Error({.op = std::string(layer),
               .got = "an input of shape " + to_string(shape),
               .expected = std::to_string(expected) + " channels in axis " + std::to_string(axis),
               .advice = shape[shape.rank() - 1] == expected ? "permute(x, {" + order + "}): channels come ahead of the spatial axes"
                         : axis == 0 ? "without a batch axis, axis 0 counts the channels; unsqueeze(x, 1) makes them samples"
                                     : "",
               .where = origin_at(where).where});
}

// (first, second, window…)
Shape weight_shape(std::string_view layer, int axes, std::int64_t first, std::int64_t second, const PerAxis& kernel_size,
                   const Line& where) {
  Shape shape{first, second};
  for (auto size : kernel_size.expand(axes, 1, layer, "kernel_size", where)) shape.push_back(size);
  return shape;
}

}  // namespace

template <int Axes>
Convolution<Axes>::Convolution(std::int64_t in_channels, std::int64_t out_channels, const PerAxis& kernel_size, const ConvOptions& options,
                               Line where)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .layout = options.layout} {
  constexpr std::string_view name = kConv[Axes - 1];
  In frame(name, where);
  require_groups(name, in_channels, out_channels, options.groups, where);
  const Shape shape = weight_shape(name, Axes, out_channels, in_channels / options.groups, kernel_size, where);
  weight = init::default_weight(shape, options.dtype, where);
  if (options.bias) bias = init::default_bias(out_channels, shape, options.dtype, where);
}

template <int Axes>
Tensor Convolution<Axes>::operator()(Arg x) const {
  return with_weight(x, weight.read(x.loc));
}

template <int Axes>
Tensor Convolution<Axes>::with_weight(Arg x, const Tensor& weight) const {
  In frame(kConv[Axes - 1], x.loc);
  const Tensor input = x.tensor(kConv[Axes - 1]);
  require_dtype(kConv[Axes - 1], input, weight.dtype(), x.loc);
  require_channels(kConv[Axes - 1], input, Axes, options_.layout, weight.shape()[1] * options_.groups, x.loc);
  if constexpr (Axes == 1) return bias.defined() ? conv1d(x, weight, bias, options_) : conv1d(x, weight, options_);
  if constexpr (Axes == 2) return bias.defined() ? conv2d(x, weight, bias, options_) : conv2d(x, weight, options_);
  if constexpr (Axes == 3) return bias.defined() ? conv3d(x, weight, bias, options_) : conv3d(x, weight, options_);
}

template <int Axes>
void Convolution<Axes>::visit(Visitor& visitor, const Path& path) {
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

template <int Axes>
ConvolutionTranspose<Axes>::ConvolutionTranspose(std::int64_t in_channels, std::int64_t out_channels, const PerAxis& kernel_size,
                                                 const ConvTransposeOptions& options, Line where)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .groups = options.groups,
               .dilation = options.dilation,
               .layout = options.layout} {
  constexpr std::string_view name = kConvTranspose[Axes - 1];
  In frame(name, where);
  require_groups(name, in_channels, out_channels, options.groups, where);
  const Shape shape = weight_shape(name, Axes, in_channels, out_channels / options.groups, kernel_size, where);
  weight = init::default_weight(shape, options.dtype, where);
  if (options.bias) bias = init::default_bias(out_channels, shape, options.dtype, where);
}

template <int Axes>
Tensor ConvolutionTranspose<Axes>::operator()(Arg x) const {
  return with_weight(x, weight.read(x.loc));
}

template <int Axes>
Tensor ConvolutionTranspose<Axes>::with_weight(Arg x, const Tensor& weight) const {
  In frame(kConvTranspose[Axes - 1], x.loc);
  require_dtype(kConvTranspose[Axes - 1], x.tensor(kConvTranspose[Axes - 1]), weight.dtype(), x.loc);
  if constexpr (Axes == 1) return bias.defined() ? conv_transpose1d(x, weight, bias, options_) : conv_transpose1d(x, weight, options_);
  if constexpr (Axes == 2) return bias.defined() ? conv_transpose2d(x, weight, bias, options_) : conv_transpose2d(x, weight, options_);
  if constexpr (Axes == 3) return bias.defined() ? conv_transpose3d(x, weight, bias, options_) : conv_transpose3d(x, weight, options_);
}

template <int Axes>
void ConvolutionTranspose<Axes>::visit(Visitor& visitor, const Path& path) {
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

template class Convolution<1>;
template class Convolution<2>;
template class Convolution<3>;
template class ConvolutionTranspose<1>;
template class ConvolutionTranspose<2>;
template class ConvolutionTranspose<3>;

}  // namespace tegula::nn
