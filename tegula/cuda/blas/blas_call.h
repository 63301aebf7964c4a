#pragma once
// A call of cuBLASLt with its chosen algorithm, for products that the library computes in one piece.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tegula/cuda/blas/blas_problem.h"
#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

struct LtCall {
  LtForm form;
  BlasProduct product;
  std::vector<std::size_t> bytes;  // bytes of the call's buffers, in their order
  std::function<LtAddresses(std::span<void* const> buffers)> addresses;
  std::string text;  // "bf16 512 x 10 x 784", for people
  std::string advice;  // the error's advice if the library has no algorithm
};

/// Throws Error where the library has no algorithm.
std::unique_ptr<runtime::Call> make_library_call(Context& context, LtCall call);

}  // namespace tegula::gpu
