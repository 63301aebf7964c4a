#pragma once
// Shared by the kernels for few channels (few_channels.h).

#include <cstdint>
#include <functional>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/few_channels/few_channels.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {

/// The sizes of a convolution over two axes.
struct ImageSizes {
  std::int64_t n, c, k, in[2], out[2], kernel[2];
  explicit ImageSizes(const runtime::Convolution& d)
      : n(d.input.layout.shape[0]),
        c(d.input.layout.shape[1]),
        k(d.output.layout.shape[1]),
        in{d.input.layout.shape[2], d.input.layout.shape[3]},
        out{d.output.layout.shape[2], d.output.layout.shape[3]},
        kernel{d.weight.layout.shape[2], d.weight.layout.shape[3]} {}
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
};

constexpr std::int64_t kMostFewChannels = 64;

/// The sizes as macros, and the words for tensor cores (tensor_core_product): a lane's slots of two products in a row are four neighbours in
/// memory (Four).
PlainSource few_channels_source(const runtime::Convolution& description, const ImageSizes& sizes);

/// Takes a variant; true if no more are wanted: their texts are not written.
using TakeFew = std::function<bool(FewChannels variant)>;

/// The kernels by how they share out the work; the variant that suits the sizes best first. True if `take` wants no more.
bool few_channels_by_warp(const runtime::Convolution& description, const ImageSizes& sizes, const TakeFew& take);  // forward, data gradient
bool few_channels_by_image(const runtime::Convolution& description, const ImageSizes& sizes, const Card& card,
                           const TakeFew& take);  // data gradient
/// True if blocks work on enough images that fetching all weights first is worth it.
bool few_channels_reuse_weights(const ImageSizes& sizes, const Card& card);
bool few_channels_weight(const runtime::Convolution& description, const ImageSizes& sizes, const Card& card, const TakeFew& take);

}  // namespace tegula::gpu
