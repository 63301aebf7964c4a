#pragma once
// The forms in which a GPU runs calls best: layouts, dtypes and epilogues.

#include <vector>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// The candidates of runtime::Device; the caller holds Context::order.
std::vector<runtime::Candidate> candidates(Context& context, const runtime::CallDescription& description);

}  // namespace tegula::gpu
