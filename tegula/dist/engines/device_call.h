#pragma once
// A collective as a call of a device.

#include <memory>

#include "tegula/dist/exchange/exchange.h"
#include "tegula/runtime/device.h"

namespace tegula::dist {

/// On the CPU the exchange itself; elsewhere the device's own engine where the group has one (engines.h), or a turn of the host. The first run decides between
/// them. Throws Error for a device that has neither.
std::unique_ptr<runtime::Call> collective_call(runtime::Device& device, const Group& group, const Collective& what, const Shape& result);

}  // namespace tegula::dist
