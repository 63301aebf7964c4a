#pragma once
// The op of a discrete Fourier transform along the last axes. Internal to ops/.

#include "tegula/graph/by_host.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/call_description.h"

namespace tegula::ops {

/// x as runtime/call_description.h says, with any axes in front, through a transform over the last `sizes.rank()` axes of numbers.
Tensor transformed(const Tensor& x, runtime::Spectrum spectrum, bool inverse, const Dims& sizes, const Line& where);

}  // namespace tegula::ops
