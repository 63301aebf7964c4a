#pragma once
// A kernel of a user's own in CUDA C++, as a call: on a GPU compiled by NVRTC, elsewhere by the system's C++ compiler (emulator/).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"

namespace tegula::runtime {

/// A tensor that the kernel is given: dense, row-major.
struct CudaTensor {
  DType dtype = DType::f32;
  Shape shape = {};
  /// The initial contents of a result: undefined, a number in each element, or a copy of an input.
  enum class Begins : std::uint8_t { Empty, Filled, Copied } begins = Begins::Empty;
  std::int64_t bits = 0;  // Filled: the number, in the dtype; Copied: the index of the input
  bool operator==(const CudaTensor&) const = default;
  std::size_t bytes() const { return static_cast<std::size_t>(numel(shape)) * size_of(dtype); }
};

/// The argument at a parameter of the kernel; behind the parameters: the contents of the text's variables (cuda_text.h).
struct CudaArgument {
  enum class Kind : std::uint8_t { Tensor, Number, Null /* a pointer to nothing */ } kind = Kind::Tensor;
  std::int64_t tensor = 0;  // which
  std::int64_t bits = 0;  // of a number of the parameter's type, in the lowest bytes; where in the text the variable's name stands
  bool operator==(const CudaArgument&) const = default;
};

/// buffers: its tensors, inputs and then results.
struct CudaKernel {
  static constexpr std::int64_t kMostThreads = 1024, kMostShared = 227 * 1024;  // per block

  std::string name = {}, text = {}, file = {};  // "reduce<float, 256>"; what its lines are told by
  Dims grid = {}, block = {};
  std::int64_t shared = 0;  // bytes of a block, asked for by the launch
  std::int64_t inputs = 0;  // how many of its tensors
  std::vector<CudaTensor> tensors = {};
  std::vector<CudaArgument> arguments = {};
  std::int64_t unwanted = 0;  // unread results, a bit each: their buffer is null, and they are in scratch memory

  bool is_unwanted(std::size_t tensor) const {
    const auto first = static_cast<std::size_t>(inputs);
    return tensor >= first && (unwanted >> (tensor - first) & 1) != 0;
  }
  bool operator==(const CudaKernel&) const = default;
};

}  // namespace tegula::runtime
