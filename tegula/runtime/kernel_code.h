#pragma once
// What a kernel becomes for a GPU, without one: machine code and what it takes. By NVRTC, which needs no driver.

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
  std::string entry;  // of the module
  std::string decisions;  // of the code generator, lines for people; of a tile program
  std::string text;  // CUDA C++, without Tegula's prelude
  std::string ptx;
  std::vector<char> cubin;
  int threads = 1, cluster = 1;  // of a block; blocks that run an instance
  std::size_t dynamic_shared = 0, static_shared = 0;  // bytes of a block
  int registers = 0;  // of a thread
  std::size_t stack_bytes = 0, spill_stores = 0, spill_loads = 0;  // of a thread
  int resident_blocks = 0;  // that fit on a multiprocessor
  double occupancy = 0;  // their threads, as a share of those that a multiprocessor can hold
};

/// Throws Error where there is no NVRTC (cuda/compiler/nvrtc.h says what is missing), and for a program that cannot be done on the architecture.
GpuKernelCode code_for_gpu(const tile::Program& program, const GpuTarget& target);
GpuKernelCode code_for_gpu(const CudaKernel& kernel, const GpuTarget& target);

}  // namespace tegula::runtime
