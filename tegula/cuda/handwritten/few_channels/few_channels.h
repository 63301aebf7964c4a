#pragma once
// Convolutions of f32 images with few channels (up to 64) on tensor cores, as implicit matrix products: rows are pixels, columns channels.
// Libraries tile for many channels; here one warp takes all of them, and the depth (taps times channels) or the pixels of the weight
// gradient are shared out among warps and blocks. Operands are rounded to tf32; sums are f32 and always added in the same order.

#include <optional>
#include <string>
#include <vector>

#include "tegula/cuda/handwritten/plain_kernels.h"
#include "tegula/simt/card.h"

namespace tegula::gpu {

struct FewChannels {
  std::string name;               // of the variant: "32 pixels, depth in 2"
  PlainKernel kernel;             // (operands as in Call::run[, bias], result), or partial sums for `sum`
  std::optional<PlainKernel> sum; // (partial sums) -> result
  std::size_t scratch = 0;        // bytes of the partial sums
};

/// The variants, the one that suits the sizes first; none where the description is not of this kind: two spatial axes, one group,
/// channels-last throughout (a weight's gradient may be row-major), tf32 allowed.
std::vector<FewChannels> few_channels_kernels(const runtime::Convolution& description, const Card& card);

/// The first of them whose blocks need at most `shared` bytes of shared memory.
std::optional<FewChannels> first_few_channels_kernel(const runtime::Convolution& description, const Card& card, std::size_t shared);

/// True if they are known to be faster than the library, so that nothing need be measured.
bool few_channels_are_fastest(const runtime::Convolution& description);

}  // namespace tegula::gpu
