#pragma once
// A call of the CPU as the host's turn in another device's queue.

#include <cstddef>
#include <memory>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::ops {

/// The CPU's call of this description for a device that queues and has none: buffers of these bytes come to the host and go back.
std::unique_ptr<runtime::Call> host_call(runtime::Device& device, const runtime::CallDescription& description,
                                         const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs);

}  // namespace tegula::ops
