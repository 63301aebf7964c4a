#pragma once
// Discrete Fourier transforms on the CPU (runtime::Fourier).

#include <memory>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// Throws Error for dtypes other than f32 and f64, and sizes below 1.
std::unique_ptr<runtime::Call> make_fourier(const runtime::Fourier& description);

}  // namespace tegula::host
