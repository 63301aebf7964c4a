#pragma once
// Compiles kernels for a GPU without having one: machine code and resources. By NVRTC, which needs no driver.

#include <cstddef>
#include <string>
#include <vector>

#include "tegula/runtime/cuda_kernel.h"
#include "tegula/tile/ir.h"

namespace tegula::runtime {

struct GpuTarget {
  int architecture = 90;  // 90 for sm_90
  bool aligned = true;  // pointers are multiples of 16 bytes: wide accesses
};

struct GpuKernelCode {
  std::string entry;  // the module's entry point
  std::string decisions;  // decisions of the code generator, as lines for people; tile programs only
  std::string text;  // CUDA C++, without Tegula's prelude
  std::string ptx;
  std::vector<char> cubin;
  int threads = 1, cluster = 1;  // threads of a block; blocks that run one instance
  std::size_t dynamic_shared = 0, static_shared = 0;  // bytes of a block
  int registers = 0;  // per thread
  std::size_t stack_bytes = 0, spill_stores = 0, spill_loads = 0;  // per thread
  int resident_blocks = 0;  // that fit on a multiprocessor
  double occupancy = 0;  // their threads, as a share of the threads that a multiprocessor can hold
};

/// Throws Error where there is no NVRTC (cuda/compiler/nvrtc.h says what is missing), and for a program that cannot be done on the architecture.
GpuKernelCode code_for_gpu(const tile::Program& program, const GpuTarget& target);
GpuKernelCode code_for_gpu(const CudaKernel& kernel, const GpuTarget& target);

}  // namespace tegula::runtime
