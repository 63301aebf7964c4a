#pragma once
// Plain kernels (plain_kernels.h) on the card: compiled once per process for each source, and queued.

#include <initializer_list>

#include "tegula/cuda/context.h"
#include "tegula/cuda/plain_kernels.h"

namespace tegula::gpu {

class LoadedKernel {
 public:
  /// Throws Error when the kernel cannot be compiled. Not while work is being recorded.
  LoadedKernel(Context& context, const PlainKernel& kernel);
  /// Queues it behind what is on context.stream. Nothing happens where the result has no elements.
  void launch(std::initializer_list<void*> pointers) const;

 private:
  Context* context_;
  CUfunction function_ = nullptr;
  unsigned blocks_ = 0, threads_ = 0, shared_ = 0;
};

/// Rounded up to what scratch parts are aligned to.
constexpr std::size_t align_scratch(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Bytes from the first to the last element.
std::size_t extent_bytes(DType dtype, const Layout& layout);

}  // namespace tegula::gpu
