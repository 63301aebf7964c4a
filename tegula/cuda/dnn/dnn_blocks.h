#pragma once
// Memory of a call's own, for tensors that do not begin where cuDNN's engines want them to.

#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/runtime/call.h"

namespace tegula::gpu {

/// A block for each of a call's tensors, taken when it is first needed.
class DnnBlocks {
 public:
  DnnBlocks(Context& context, std::size_t count) : context_(context), blocks_(count) {}

  void* block(std::size_t slot, std::size_t bytes) const {
    const std::scoped_lock lock(mutex_);
    if (!blocks_[slot]) blocks_[slot] = allocate(context_, bytes);
    return blocks_[slot]->data();
  }
  /// Engines may take addresses for multiples of 16. A tensor that begins elsewhere (a slice) goes through a block: the caller copies.
  void* aligned(std::size_t slot, void* pointer, std::size_t bytes) const {
    return std::bit_cast<std::uintptr_t>(pointer) % kAlignment == 0 ? pointer : block(slot, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, std::string_view op) const {
    check(cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from), bytes, context_.stream()), op);
  }

 private:
  static constexpr std::uintptr_t kAlignment = 16;

  Context& context_;
  mutable std::mutex mutex_;
  mutable std::vector<Ref<Buffer>> blocks_;
};

/// A tensor of a call whose kernels may take addresses for multiples of 16.
struct AlignedTensor {
  std::size_t bytes = 0;  // 0: lies anywhere
  bool written = false;
  bool sparse = false;  // has room between its rows, which are another's: it cannot go through a block
};
/// The same call for tensors at any address: those that do not begin at multiples of 16 bytes (slices) go through memory of its own.
/// `op` is who reports what goes wrong.
std::unique_ptr<runtime::Call> aligned_call(Context& context, const char* op, std::unique_ptr<runtime::Call> call,
                                            std::vector<AlignedTensor> tensors);

}  // namespace tegula::gpu
