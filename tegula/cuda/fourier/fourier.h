#pragma once
// cuFFT: opened at the first transform.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// True if cuFFT is there and computes it: complex numbers along one to three axes, real ones along one.
bool transforms(Context& context, const runtime::Fourier& description);
std::unique_ptr<runtime::Call> make_fourier(Context& context, const runtime::Fourier& description);

}  // namespace tegula::gpu
