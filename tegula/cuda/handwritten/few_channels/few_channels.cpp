#include "tegula/cuda/handwritten/few_channels/few_channels.h"

#include <algorithm>
#include <utility>

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/handwritten/few_channels/few_channels.cuh.h"
#include "tegula/cuda/handwritten/few_channels/few_channels_parts.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

bool suits(const Convolution& d) {
  if (d.dtype() != f32 || d.arithmetic != runtime::Arithmetic::TF32 || d.groups != 1 || runtime::sums_of(d.epilogue).tensor ||
      d.input.layout.shape.rank() != 4)
    return false;
  for (const Layout* layout : {&d.input.layout, &d.weight.layout, &d.output.layout}) {
    const bool any_order =
        layout == &d.weight.layout && d.pass == ConvolutionPass::BackwardWeight && lies_ordered(d.weight.layout, ChannelOrder::First);
    if ((!any_order && !lies_ordered(*layout, ChannelOrder::Last)) || numel(layout->shape) == 0 || numel(layout->shape) >= 1 << 28)
      return false;
  }
  for (const Dims* low : {&d.pad_low, &d.pad_high}) {
    if ((*low)[0] < 0 || (*low)[1] < 0) return false;
  }
  return true;
}

bool each_variant(const Convolution& d, const Card& card, const TakeFew& take) {
  if (!suits(d) || !has_tf32(card)) return false;
  const ImageSizes sizes(d);
  if (d.pass == ConvolutionPass::BackwardWeight) return few_channels_weight(d, sizes, card, take);
  const auto by_image = [&] { return few_channels_by_image(d, sizes, card, take); };
  if (!few_channels_reuse_weights(sizes, card)) return few_channels_by_warp(d, sizes, take) || by_image();
  return by_image() || few_channels_by_warp(d, sizes, take);
}

}  // namespace

PlainSource few_channels_source(const Convolution& d, const ImageSizes& s) {
  PlainSource source(f32, {d.input.layout, d.weight.layout, d.output.layout});
  const std::pair<const char*, std::int64_t> values[] = {{"BATCH", s.n},
                                                         {"C", s.c},
                                                         {"K", s.k},
                                                         {"IN_H", s.in[0]},
                                                         {"IN_W", s.in[1]},
                                                         {"OUT_H", s.out[0]},
                                                         {"OUT_W", s.out[1]},
                                                         {"KERNEL_H", s.kernel[0]},
                                                         {"KERNEL_W", s.kernel[1]},
                                                         {"STRIDE_H", d.stride[0]},
                                                         {"STRIDE_W", d.stride[1]},
                                                         {"DILATION_H", d.dilation[0]},
                                                         {"DILATION_W", d.dilation[1]},
                                                         {"LOW_H", d.pad_low[0]},
                                                         {"LOW_W", d.pad_low[1]},
                                                         {"BIAS", runtime::sums_of(d.epilogue).channel || d.bias_gradient}};
  for (const auto& [name, value] : values) source.define(name, value);
  source.add(tensor_core_product());
  source.add(kFewChannelsWords);
  return source;
}

bool few_channels_are_fastest(const Convolution& d) {
  constexpr std::int64_t kLibrariesWaste = 32;  // channels up to here
  return std::max(d.weight.layout.shape[0], d.weight.layout.shape[1]) <= kLibrariesWaste;
}

std::vector<FewChannels> few_channels_kernels(const Convolution& d, const Card& card) {
  std::vector<FewChannels> all;
  each_variant(d, card, [&](FewChannels variant) {
    all.push_back(std::move(variant));
    return false;
  });
  return all;
}

std::optional<FewChannels> first_few_channels_kernel(const Convolution& d, const Card& card, std::size_t shared) {
  std::optional<FewChannels> first;
  each_variant(d, card, [&](FewChannels variant) {
    if (variant.kernel.shared <= shared) first = std::move(variant);
    return first.has_value();
  });
  return first;
}

}  // namespace tegula::gpu
