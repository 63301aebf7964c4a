#pragma once
// Max pooling of channels-last images whose channels come in pieces of 16 bytes: a thread takes a piece. The backward pass gathers by the taps,
// so that no window is searched more than once.

#include <optional>

#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

/// Buffers: forward (input, output, taps), of the results the wanted ones; backward (taps, output gradient, input gradient). Nothing where the description is
/// of another kind.
std::optional<PlainKernel> piece_pooling(const runtime::Pooling& description);

}  // namespace tegula::gpu
