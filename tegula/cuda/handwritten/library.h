#pragma once
// The library calls of the GPU: cuBLASLt and cuDNN, which choose an algorithm by measuring once per shape (tuning.h), and plain kernels.

#include <memory>
#include <optional>

#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/handwritten/few_channels/few_channels.h"
#include "tegula/runtime/attention.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// Begins to compile the kernels that making the call may measure, so that those of several calls are compiled side by side.
void request_matmul(Context& context, const runtime::Matmul& description);
/// Returns our own kernel for it, for make_convolution: writing its text takes longer than all else.
std::optional<FewChannels> request_convolution(Context& context, const runtime::Convolution& description);

std::unique_ptr<runtime::Call> make_matmul(Context& context, const runtime::Matmul& description);
std::unique_ptr<runtime::Call> make_convolution(Context& context, const runtime::Convolution& description,
                                                const std::optional<FewChannels>& own);
std::unique_ptr<runtime::Call> make_pooling(Context& context, const runtime::Pooling& description);
std::unique_ptr<runtime::Call> make_scatter_sum(Context& context, const runtime::ScatterSum& description);
/// True if cuDNN is there and has the attention, in halves, without scores in memory.
bool attends(Context& context, const runtime::Attention& description);
std::unique_ptr<runtime::Call> make_attention(Context& context, const runtime::Attention& description);

}  // namespace tegula::gpu
