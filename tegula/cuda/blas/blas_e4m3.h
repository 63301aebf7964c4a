#pragma once
// Products of E4M3 codes: cuBLASLt's 8-bit tensor-core kernels, from sm_89 on.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// The fastest algorithm of cuBLASLt, measured once (tuning.h); sums in f32 throughout (no fast accumulation). Throws Error where the library
/// has none.
std::unique_ptr<runtime::Call> make_matmul_e4m3(Context& context, const runtime::Matmul& description);

}  // namespace tegula::gpu
