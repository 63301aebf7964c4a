#pragma once
// A convolution with steps over few channels is one without over many: the f pixels that lie between two windows become channels,
//   x'[n, (a, b, c), i, j] = x[n, c, f i + a - low, f j + b - low],  w'[o, (a, b, c), p, q] = w[o, c, f p + a, f q + b],
// and the outputs stay what they are. The engines for tensor cores want at least 16 bytes of channels: an image of three, in halves, has 16
// channels for steps of two, four of which are zero; filled up to 8 without folding, five of eight are.
//
// One pixel with k times the channels can be made of k outputs side by side in a row: they lie in memory as if it were. Then f is k steps
// wide and there are k copies of the weight, each shifted by a step against the one before.

#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

/// Channels are filled up with zeros to pieces of this size behind each row (a).
inline constexpr std::int64_t kFoldPiece = 8;

struct PlainFold {
  DType dtype = DType::f32;
  Layout plain;  // (N, C, H, W)
  Layout folded;  // (k N, f * whole pieces of f C, H', W'), dense, channels last; k is 1 unless it is a weight
  Dims factors;  // (in H, in W)
  Dims low;  // the first element of `folded` lies so far before that of `plain`
  std::int64_t step = 1;  // in W, of the copies against each other
};

/// Channels of `folded`.
std::int64_t folded_channels(std::int64_t channels, const Dims& factors);

/// (plain) -> folded, zero where plain has nothing.
PlainKernel fold_kernel(const PlainFold& fold);
/// (folded) -> plain: the sums over the copies. `low` is 0.
PlainKernel unfold_kernel(const PlainFold& fold);

}  // namespace tegula::gpu
