#pragma once
// Copies from one device to another of its make, without the host.

#include <cstddef>

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// What a device is as well that can fetch memory of another.
class CopiesPeers {
 public:
  virtual ~CopiesPeers() = default;
  /// Queues a copy of bytes of the other device's memory to memory of this one, behind what was queued on both so far. What is queued on either from now on comes
  /// behind the copy: `from` may be given back on return. False where the two cannot, or one of them records: then nothing was queued.
  virtual bool copy_from(void* to, Device& other, const void* from, std::size_t bytes) = 0;
};

}  // namespace tegula::runtime
