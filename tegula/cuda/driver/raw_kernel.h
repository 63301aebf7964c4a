#pragma once
// Kernels of a user's own in CUDA C++.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/call.h"
#include "tegula/runtime/cuda_kernel.h"

namespace tegula::gpu {

/// Begins to compile the kernel. The first run throws NVRTC's errors, with the lines of the text.
std::unique_ptr<runtime::Call> make_raw_kernel(Context& context, const runtime::CudaKernel& kernel);

}  // namespace tegula::gpu
