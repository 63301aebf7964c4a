#pragma once
// Memory with an owner: the storage of a tensor's elements.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tegula/core/line.h"
#include "tegula/core/ref.h"

namespace tegula {

struct Report;

inline constexpr std::size_t kBufferAlignment = 64;

/// A block of memory on one device, 64-byte aligned. Returned to its owner's pool when the last Ref goes.
/// `device` is an opaque number to core: 0 is the host, others are given out by the runtime. Only memory of the host may be touched
/// through data().
class Buffer : public Shared {
 public:
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; }
  /// Copies bytes from `offset` on to host memory; waits until they have been computed.
  virtual void read(std::size_t offset, void* to, std::size_t bytes) const;

 protected:
  Buffer(void* data, std::size_t bytes, int device) : data_(data), bytes_(bytes), device_(device) {}
  void* data_;
  std::size_t bytes_;
  int device_;
};

/// Host memory from a caching pool: a freed block is kept for the next request of its size class.
/// Contents are not initialised. Null when the system has no more memory, not even after trim_host_pool().
Ref<Buffer> try_allocate_host(std::size_t bytes);
/// The same; throws Error instead.
Ref<Buffer> allocate_host(std::size_t bytes);
/// The report for a full memory and for a size that no memory can hold; `what` (the memory's purpose) may be empty.
Report no_host_memory(std::size_t bytes, std::string_view what = "", const Line& where = {});

/// Calls of allocate_host that had to ask the system (none, once sizes repeat), and bytes now in use / kept for reuse.
struct PoolCounters {
  std::uint64_t system_allocations = 0;
  std::size_t bytes_in_use = 0;
  std::size_t bytes_cached = 0;
};
PoolCounters host_pool_counters();

/// Gives all kept blocks back to the system.
void trim_host_pool();

}  // namespace tegula
