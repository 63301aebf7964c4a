#pragma once
// Max pooling of channels-last images whose channels come in pieces of 16 bytes: a thread takes a piece. The backward pass first notes which
// tap of each window holds the maximum, one byte each, and then gathers, so that no window is searched more than once.

#include <optional>

#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

struct PiecePooling {
  PlainKernel kernel;  // forward: (input) -> output; backward: (input) -> taps
  std::optional<PlainKernel> gather;  // (taps, output gradient) -> input gradient
  std::size_t scratch = 0;  // bytes of the taps
};

/// Nothing where the description is of another kind.
std::optional<PiecePooling> piece_pooling(const runtime::Pooling& description);

}  // namespace tegula::gpu
