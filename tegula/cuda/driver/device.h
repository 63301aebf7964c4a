#pragma once
// The GPUs that can be used, and opening them.

#include "tegula/runtime/device.h"
#include "tegula/runtime/findings.h"

namespace tegula::gpu {

/// The number of GPUs that can be used. Throws Error saying what is missing when it would be 0: the driver is too old, there is no device,
/// or none of a new enough architecture.
int count_devices();

/// The index-th usable GPU; lives as long as the process. Throws Error.
runtime::Device& open_device(int index);
/// The findings of a device that is open.
runtime::DeviceFindings& findings_of_device(int index);

}  // namespace tegula::gpu
