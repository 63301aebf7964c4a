#pragma once
// How a GPU would rather have its calls: layouts, dtypes and epilogues.

#include <vector>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// As runtime::Device; the caller holds Context::order.
std::vector<runtime::Candidate> candidates(Context& context, const runtime::CallDescription& description);

}  // namespace tegula::gpu
