#pragma once
// Products of a backward pass that multiply by the derivative of gelu's tanh form: an epilogue of cuBLASLt.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// True if a matmul with this epilogue takes less time than one without it and a kernel that moves the same bytes. Measures both, and stores the
/// times in the tuning file. False if cuBLASLt has no such epilogue, and for small products, which are not measured.
bool prefers_gradient(Context& context, const runtime::Matmul& description);

/// A call for a description with such an epilogue. Throws Error where cuBLASLt has no algorithm.
std::unique_ptr<runtime::Call> make_gradient_matmul(Context& context, const runtime::Matmul& description);

}  // namespace tegula::gpu
