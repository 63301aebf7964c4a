#pragma once
// Products of a backward pass that multiply by the derivative of gelu's tanh form: an epilogue of cuBLASLt.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// Whether such a product takes less time than one without, measured, and a kernel that moves as many bytes as the rest asks for. Both times
/// are remembered in the tuning file. False where cuBLASLt has no such epilogue, and for small products, for which nothing is measured.
bool prefers_gradient(Context& context, const runtime::Matmul& description);

/// For a description with a `gradient`. Throws Error where cuBLASLt has no algorithm.
std::unique_ptr<runtime::Call> make_gradient_matmul(Context& context, const runtime::Matmul& description);

}  // namespace tegula::gpu
