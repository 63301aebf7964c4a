#pragma once
// Memory of the GPU: a caching pool of device memory, and pinned host memory that both sides see.

#include <cuda.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

inline CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

/// Device memory in segments from the driver, cut into blocks. A freed block joins its free neighbours and is handed out again at once:
/// it is handed out and taken back in the order of the stream of Use::Compute. Segments of 2 MiB for blocks up to 1 MiB, of 20 MiB up to 10 MiB, of their own size above.
/// Thread-safe. Never destroyed; giving a block back does not need the driver.
class Pool final : public runtime::DeviceMemory {
 public:
  explicit Pool(Context& context) : context_(context) {}
  /// 512-byte aligned. Throws OutOfMemory naming the largest blocks in use when there is no memory left, not even after trim().
  Ref<Buffer> allocate(std::size_t bytes, const runtime::Purpose& purpose) override;
  Ref<Buffer> allocate_shared(std::size_t bytes) override;
  /// Gives the segments nothing of which is in use back to the driver.
  void trim() override;
  PoolCounters counters() const override;

 private:
  friend class DeviceBuffer;
  struct Block {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    bool large = false;
    bool free = true;
    Block* previous = nullptr;  // neighbours within the segment, by address
    Block* next = nullptr;
    std::string what = {};  // runtime::Purpose
    Line where = {};
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const { return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address; }
  };

  Block* take(std::size_t bytes, bool large);
  Block* grow(std::size_t bytes, bool large);
  void split(Block* block, std::size_t bytes);
  void give_back(Block* block);
  void join_next(Block* block);
  void trim_locked();
  [[noreturn]] void out_of_memory(std::size_t bytes, const runtime::Purpose& purpose) const;

  Context& context_;
  mutable std::mutex mutex_;
  std::set<Block*, BySize> free_[2];  // free blocks of small and of large segments
  std::set<Block*> used_;
  PoolCounters counters_;
};

/// Memory of the pool for this thread's work on Context::stream() while it lives: also in the order of that stream. The caller holds Context::order and does not record.
class BriefMemory {
 public:
  BriefMemory(const Context& context, std::size_t bytes);
  ~BriefMemory();
  BriefMemory(const BriefMemory&) = delete;
  BriefMemory& operator=(const BriefMemory&) = delete;
  void* data() const { return buffer_->data(); }

 private:
  const Context& context_;
  Ref<Buffer> buffer_;
};

/// Pinned host memory, mapped at the same address on the device; 64-byte aligned. Kept for reuse like device memory, but handed out
/// again only when the streams are idle, since the host writes into it at once.
Ref<Buffer> allocate_shared(Context& context, std::size_t bytes);

/// Copies by Context::stream(); waits until the bytes are on the host.
void copy_out(Context& context, void* to, CUdeviceptr from, std::size_t bytes);

/// Copies from the host, through rings of pinned chunks whose reuse waits for events. The caller holds Context::order.
///
/// Large ones for the queue of Use::Compute come by that of Use::Copy, so that the next batch comes while the step before it runs: into device memory that
/// nothing else uses, from where the device's queue takes it when its turn has come.
class Staging {
 public:
  explicit Staging(Context& context) : context_(context) {}
  /// Queued in order on Context::stream(); `from` may be reused on return.
  void copy_in(CUdeviceptr to, const void* from, std::size_t bytes);
  /// Gives back the device memory that large ones land in. By any thread.
  void trim();

 private:
  static constexpr std::size_t kChunks = 4;
  static constexpr std::size_t kChunkBytes = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = kChunkBytes / 2;  // the least bytes of a large copy
  static constexpr std::size_t kLandings = 16;
  static constexpr std::size_t kLandingBytes = std::size_t{16} << 20;  // at most, each

  struct Chunk {
    std::byte* data = nullptr;
    CUevent copied = nullptr;  // after the last copy out of the chunk
  };
  struct Ring {
    Chunk chunks[kChunks];
    std::size_t current = 0;
    std::size_t used = kChunkBytes;  // bytes used of the current chunk; full before the first
  };
  /// The buffer in which a large copy arrives.
  struct Landing {
    CUdeviceptr data = 0;
    std::size_t bytes = 0;
    CUevent came = nullptr, taken = nullptr;  // by Use::Copy, by Use::Compute
  };
  static void advance(Ring& ring, CUstream stream);
  void pieces(CUstream stream, CUdeviceptr to, const std::byte* from, std::size_t bytes);
  /// Returns a landing with room for the bytes; null where there is no memory for it.
  Landing* landing(std::size_t bytes);
  static void give_up(Landing& landing);

  Context& context_;
  std::map<CUstream, Ring> rings_;
  std::mutex landing_;  // protects the landings
  Landing landings_[kLandings];
  std::size_t next_ = 0;
};

}  // namespace tegula::gpu
