#pragma once
// Host functions on the stream: they are nodes of a recording, too.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// The call of a runtime::HostTurn. Keeps pinned memory for its input and output.
std::unique_ptr<runtime::Call> make_host_turn(Context& context, const runtime::HostTurn& turn);

}  // namespace tegula::gpu
