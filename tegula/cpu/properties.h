#pragma once
// The processor's properties and peak rates.

#include "tegula/runtime/device.h"

namespace tegula::host {

/// The rate of f32 multiply-adds is that of `threads` threads which do nothing else, measured in some 30 ms; no other rate is known.
runtime::DeviceProperties find_properties(int threads);
/// The instruction set that vectors use: "AVX3_ZEN4".
const char* instruction_set();

}  // namespace tegula::host
