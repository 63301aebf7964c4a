#pragma once
// Grouped sums (runtime::GroupedSum) as a plain kernel.

#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

/// Arguments are the call's buffers.
PlainKernel grouped_sum_kernel(const runtime::GroupedSum& description);

}  // namespace tegula::gpu
