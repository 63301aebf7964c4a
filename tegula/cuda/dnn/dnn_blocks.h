#pragma once
// Memory of a call's own, for tensors that do not begin where cuDNN's engines want them to.

#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/driver/memory.h"

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

}  // namespace tegula::gpu
