#pragma once
// The plain kernels behind the library calls, as CUDA C++: pooling, what cuBLASLt and cuDNN leave out (other epilogues, sums over nothing,
// f64 convolution, copies between layouts), and a direct version of each product that works for every description.
//
// Sizes and strides are written into the source as constants: the compiler turns divisions by them into multiplications, and the reader
// sees the loop that runs. Threads follow the result in memory, so stores are contiguous.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// A kernel and the translation unit it is in.
struct PlainKernel {
  std::string name;      // of the extern "C" function
  std::string source;
  std::int64_t blocks = 0;
  int threads = 256;     // of a block
  std::size_t shared = 0;  // bytes of shared memory beside what the source declares
};

/// Rounded up to what scratch parts are aligned to.
constexpr std::size_t align_scratch(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// (input) -> output; backward: (input, output gradient) or (output gradient) -> input gradient. No atomics: the same bits every time.
PlainKernel pooling_kernel(const runtime::Pooling& description);

/// The sum by its definition, with the epilogue but for a tensor: one thread for each element of the result (of C, output or input gradient), one block
/// for each element of a weight gradient. Arguments as in runtime::Call::run; the bias gradient is a kernel of its own.
PlainKernel direct_matmul_kernel(const runtime::Matmul& description);
PlainKernel direct_convolution_kernel(const runtime::Convolution& description);

/// (output gradient) -> bias gradient (K): sums over everything but the channels.
PlainKernel bias_gradient_kernel(const runtime::Convolution& description);

/// The epilogue of C in place: ([vector by channel, ][tensor, ]C); channels run along `axis`, the tensor lies as C does.
struct PlainEpilogue {
  DType dtype = DType::f32;
  Layout layout;
  int axis = 0;
  runtime::Sums sums;
};
PlainKernel epilogue_kernel(const PlainEpilogue& epilogue);

/// (from) -> to: to[i] = from[i - shift], zero outside of it. Pads, crops and changes layouts. Shapes have equal ranks.
struct PlainCopy {
  DType dtype = DType::f32;
  Layout from, to;
  Dims shift;
};
PlainKernel copy_kernel(const PlainCopy& copy);

}  // namespace tegula::gpu
