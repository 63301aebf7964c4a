#pragma once
// What a card is and how fast it can be.

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// Rates at the highest clock the driver names, so a little above what the maker prints, which is at the boost clock.
runtime::DeviceProperties find_properties(const Context& context);

}  // namespace tegula::gpu
