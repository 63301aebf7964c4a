#include "tegula/core/buffer.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula {
namespace {

class HostBuffer;

// Size classes: powers of two and three quarters between, from 64 bytes. A request wastes at most a third.
constexpr int kClasses = 2 * 48;

std::size_t class_bytes(int index) {
  const std::size_t power = std::size_t{64} << (index / 2);
  return index % 2 == 0 ? power : power + power / 2;
}

int class_of(std::size_t bytes) {
  if (bytes <= 64) return 0;
  const int log = std::bit_width(bytes - 1) - 6;  // 64 << log >= bytes
  const int below = 2 * (log - 1) + 1;            // one and a half times the power below
  return class_bytes(below) >= bytes ? below : 2 * log;
}

constexpr std::size_t kMostBytes = std::size_t{1} << 46;

struct Pool {
  std::mutex mutex;
  std::array<HostBuffer*, kClasses> free{};  // lists through the buffers themselves: giving one back needs no memory
  PoolCounters counters;
};

// Never destroyed: buffers may be released by static objects after main.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

class HostBuffer final : public Buffer {
 public:
  HostBuffer(void* data, int size_class) : Buffer(data, 0, 0), size_class_(size_class) {}
  ~HostBuffer() override { std::free(data_); }
  void set_bytes(std::size_t bytes) { bytes_ = bytes; }
  HostBuffer* next = nullptr;  // while it is free

 protected:
  void destroy() const override {
    auto* self = const_cast<HostBuffer*>(this);
    Pool& p = pool();
    std::scoped_lock lock(p.mutex);
    p.counters.bytes_in_use -= class_bytes(size_class_);
    p.counters.bytes_cached += class_bytes(size_class_);
    self->next = std::exchange(p.free[static_cast<std::size_t>(size_class_)], self);
  }

 private:
  int size_class_;
};

}  // namespace

void Buffer::read(std::size_t offset, void* to, std::size_t bytes) const {
  if (bytes > 0) std::memcpy(to, static_cast<const std::byte*>(data_) + offset, bytes);
}

Ref<Buffer> allocate_host(std::size_t bytes) {
  Ref<Buffer> buffer = try_allocate_host(bytes);
  if (!buffer) throw Error(no_host_memory(bytes));
  return buffer;
}

Report no_host_memory(std::size_t bytes, std::string_view what, const Line& where) {
  const std::string size = std::to_string(bytes) + " bytes" + (what.empty() ? "" : " (" + std::string(what) + ")");
  if (bytes > kMostBytes) {
    return {.op = "allocate",
            .got = size,
            .expected = "a size that memory can hold",
            .advice = "check the shape: it was probably computed from wrong numbers",
            .where = where};
  }
  return {.op = "allocate",
          .got = "no memory for " + size,
          .expected = "",
          .advice = "use a smaller batch, or release tensors that are no longer needed",
          .where = where};
}

Ref<Buffer> try_allocate_host(std::size_t bytes) {
  if (bytes > kMostBytes) return {};
  const int size_class = class_of(bytes);
  Pool& p = pool();
  {
    std::scoped_lock lock(p.mutex);
    if (HostBuffer*& first = p.free[static_cast<std::size_t>(size_class)]; first) {
      HostBuffer* buffer = std::exchange(first, first->next);
      p.counters.bytes_cached -= class_bytes(size_class);
      p.counters.bytes_in_use += class_bytes(size_class);
      buffer->set_bytes(bytes);
      return Ref<Buffer>(buffer);
    }
  }
  const std::size_t rounded = (class_bytes(size_class) + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  void* data = std::aligned_alloc(kBufferAlignment, rounded);
  if (!data) {  // the cache may hold the memory that is missing
    trim_host_pool();
    data = std::aligned_alloc(kBufferAlignment, rounded);
  }
  if (!data) return {};
  {
    std::scoped_lock lock(p.mutex);
    p.counters.system_allocations++;
    p.counters.bytes_in_use += class_bytes(size_class);
  }
  auto* buffer = new HostBuffer(data, size_class);
  buffer->set_bytes(bytes);
  return Ref<Buffer>(buffer);
}

PoolCounters host_pool_counters() {
  std::scoped_lock lock(pool().mutex);
  return pool().counters;
}

void trim_host_pool() {
  Pool& p = pool();
  std::scoped_lock lock(p.mutex);
  for (HostBuffer*& first : p.free) {
    while (first) delete std::exchange(first, first->next);
  }
  p.counters.bytes_cached = 0;
}

}  // namespace tegula
