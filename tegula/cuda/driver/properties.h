#pragma once
// The properties of a card and its peak rates.

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// Rates at the highest clock that the driver names, so a little above the maker's figures, which are for the boost clock.
runtime::DeviceProperties find_properties(const Context& context);

}  // namespace tegula::gpu
