#pragma once
// A kernel of a user's own in CUDA C++, run on the CPU and watched.

#include <span>

#include "tegula/core/line.h"
#include "tegula/runtime/cuda_kernel.h"

namespace tegula::emulator {

/// Runs the kernel over these buffers: its tensors, inputs and then results, which hold what they begin as. Works on copies with room between them. Throws
/// Error of the launch's line with the line of the text: for an access outside of every tensor and variable, a read of what nobody has written, a write to an
/// input, two threads that touch an element with no barrier between them, threads that wait for each other for ever or at two barriers, an index outside of an
/// array, a division by 0, and for an element of a result that nobody writes.
void launch(const runtime::CudaKernel& kernel, std::span<void* const> buffers, const Line& where);

}  // namespace tegula::emulator
