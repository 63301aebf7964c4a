#include "tegula/cuda/driver/memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr std::size_t kGranularity = 512;
constexpr std::size_t kMebi = std::size_t{1} << 20;
constexpr std::size_t kSmall = kMebi;             // the largest block of a small segment
constexpr std::size_t kSmallSegment = 2 * kMebi;
constexpr std::size_t kMedium = 10 * kMebi;       // larger blocks get a segment of their own
constexpr std::size_t kMediumSegment = 20 * kMebi;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

void check_size(std::size_t bytes) {
  if (bytes <= (std::size_t{1} << 46)) return;
  throw Error({.op = "allocate",
               .got = std::to_string(bytes) + " bytes",
               .expected = "a size that memory can hold",
               .advice = "check the shape: it was probably computed from wrong numbers"});
}

}  // namespace

void copy_out(Context& context, void* to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return;
  require_no_recording(context, "copying to the host");
  {
    const std::scoped_lock lock(context.order);
    context.enter();
    check(cuMemcpyDtoHAsync(to, from, bytes, context.stream()), "copying to the host");
  }
  context.synchronize("copying to the host");
}

class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(Pool& pool, Pool::Block* block, std::size_t bytes)
      : Buffer(reinterpret_cast<void*>(block->address), bytes, 1 + pool.context_.index),
        pool_(pool),
        block_(block) {}
  ~DeviceBuffer() override { pool_.give_back(block_); }

  void read(std::size_t offset, void* to, std::size_t bytes) const override {
    copy_out(pool_.context_, to, block_->address + offset, bytes);
  }

 private:
  Pool& pool_;
  Pool::Block* block_;
};

Ref<Buffer> Pool::allocate(std::size_t bytes, const runtime::Purpose& purpose) {
  check_size(bytes);
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), kGranularity);
  const bool large = rounded > kSmall;
  Block* block = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    block = take(rounded, large);
    if (!block) block = grow(rounded, large);
    if (!block) out_of_memory(bytes, purpose);
    split(block, rounded);
    block->free = false;
    block->what = purpose.what;
    block->where = purpose.where;
    used_.insert(block);
    counters_.bytes_in_use += block->bytes;
    counters_.bytes_cached -= block->bytes;
  }
  Ref<Buffer> buffer(new DeviceBuffer(*this, block, bytes));
  if (Capture* capture = Capture::current(context_)) capture->keep(buffer);
  return buffer;
}

/// The smallest free block that holds `bytes`, no longer among the free ones.
Pool::Block* Pool::take(std::size_t bytes, bool large) {
  auto& free = free_[large];
  Block wanted{.address = 0, .bytes = bytes};
  const auto found = free.lower_bound(&wanted);
  if (found == free.end()) return nullptr;
  Block* block = *found;
  free.erase(found);
  return block;
}

/// A new segment as one block; null if there is no memory even after giving back unused segments.
Pool::Block* Pool::grow(std::size_t bytes, bool large) {
  context_.enter();
  const std::size_t exact = round_up(bytes, kSmallSegment);
  std::size_t segment = !large ? kSmallSegment : bytes <= kMedium ? kMediumSegment : exact;
  CUdeviceptr address = 0;
  CUresult result = cuMemAlloc(&address, segment);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    trim_locked();
    result = cuMemAlloc(&address, segment);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY && segment != exact) {
    segment = exact;
    result = cuMemAlloc(&address, segment);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  check(result, "allocate");
  counters_.system_allocations++;
  counters_.bytes_cached += segment;
  return new Block{.address = address, .bytes = segment, .large = large};
}

/// Cuts the unneeded end off a block, unless it is too small to be of use.
void Pool::split(Block* block, std::size_t bytes) {
  const std::size_t rest = block->bytes - bytes;
  if (rest < (block->large ? kSmall : kGranularity)) return;
  auto* tail = new Block{.address = block->address + bytes, .bytes = rest, .large = block->large, .previous = block, .next = block->next};
  if (tail->next) tail->next->previous = tail;
  block->next = tail;
  block->bytes = bytes;
  free_[block->large].insert(tail);
}

void Pool::give_back(Block* block) {
  const std::scoped_lock lock(mutex_);
  used_.erase(block);
  counters_.bytes_in_use -= block->bytes;
  counters_.bytes_cached += block->bytes;
  block->free = true;
  if (block->next && block->next->free) {
    free_[block->large].erase(block->next);
    join_next(block);
  }
  if (Block* before = block->previous; before && before->free) {
    free_[block->large].erase(before);
    join_next(before);
    block = before;
  }
  free_[block->large].insert(block);
}

void Pool::join_next(Block* block) {
  Block* next = block->next;
  block->bytes += next->bytes;
  block->next = next->next;
  if (block->next) block->next->previous = block;
  delete next;
}

void Pool::trim() {
  context_.enter();
  const std::scoped_lock lock(mutex_);
  trim_locked();
}

/// cuMemFree waits for work that may still use the memory.
void Pool::trim_locked() {
  for (auto& free : free_) {
    for (auto block = free.begin(); block != free.end();) {
      Block* candidate = *block;
      if (candidate->previous || candidate->next) {
        ++block;
        continue;
      }
      check(cuMemFree(candidate->address), "releasing memory");
      counters_.bytes_cached -= candidate->bytes;
      block = free.erase(block);
      delete candidate;
    }
  }
  if (context_.staging) context_.staging->trim();
}

PoolCounters Pool::counters() const {
  const std::scoped_lock lock(mutex_);
  return counters_;
}

void Pool::out_of_memory(std::size_t bytes, const runtime::Purpose& purpose) const {
  std::vector<const Block*> largest(used_.begin(), used_.end());
  const auto count = std::min<std::ptrdiff_t>(5, static_cast<std::ptrdiff_t>(largest.size()));
  std::partial_sort(largest.begin(), largest.begin() + count, largest.end(), [](const Block* a, const Block* b) { return BySize()(b, a); });
  std::string list;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const Block& block = *largest[static_cast<std::size_t>(i)];
    const std::string line = tegula::to_string(block.where);
    list += "\n    " + bytes_text(block.bytes) + (block.what.empty() ? "" : "  " + block.what) + (line.empty() ? "" : "  " + line);
  }
  std::size_t available = 0;
  std::size_t total = context_.memory_bytes;
  cuMemGetInfo(&available, &total);  // only for the text
  throw runtime::OutOfMemory({.op = "allocate",
                              .got = "no memory on " + context_.device_name() + " for " + bytes_text(bytes) +
                                     (purpose.what.empty() ? "" : " (" + std::string(purpose.what) + ")") + ": " +
                                     bytes_text(counters_.bytes_in_use) + " in use by this program, " + bytes_text(available) +
                                     " free of " + bytes_text(total) + (list.empty() ? "" : "; the largest tensors:" + list),
                              .advice = "use a smaller batch, or release tensors that are no longer needed",
                              .where = purpose.where});
}

Ref<Buffer> allocate(const Context& context, std::size_t bytes) {
  Ref<Buffer> buffer = context.pool->allocate(bytes, {});
  if (!Capture::current(context)) context.follow(runtime::Use::Compute);
  return buffer;
}

BriefMemory::BriefMemory(const Context& context, std::size_t bytes) : context_(context), buffer_(allocate(context, bytes)) {}

BriefMemory::~BriefMemory() {
  if (context_.stream() == context_.stream_of(runtime::Use::Compute)) return;
  try {
    context_.join();
  } catch (...) { context_.drain(); }  // a lost device
}

namespace {

/// Freed pinned blocks. Never destroyed.
struct SharedBlocks {
  struct Block {
    int device;
    std::size_t bytes;
    void* data;
  };
  std::mutex mutex;
  std::vector<Block> free;
};

SharedBlocks& shared_blocks() {
  static auto* instance = new SharedBlocks;
  return *instance;
}

class SharedBuffer final : public Buffer {
 public:
  SharedBuffer(Context& context, void* data, std::size_t bytes, std::size_t block_bytes)
      : Buffer(data, bytes, 1 + context.index),
        context_(context),
        block_bytes_(block_bytes) {}
  ~SharedBuffer() override {
    const std::scoped_lock lock(shared_blocks().mutex);
    shared_blocks().free.push_back({context_.index, block_bytes_, data_});
  }
  void read(std::size_t offset, void* to, std::size_t bytes) const override {
    if (bytes == 0) return;
    context_.synchronize_all("copying to the host");
    std::memcpy(to, static_cast<const std::byte*>(data_) + offset, bytes);
  }

 private:
  Context& context_;
  std::size_t block_bytes_;
};

void* take_shared(int device, std::size_t bytes) {
  SharedBlocks& blocks = shared_blocks();
  const std::scoped_lock lock(blocks.mutex);
  const auto fits = [&](const SharedBlocks::Block& block) { return block.device == device && block.bytes == bytes; };
  const auto found = std::find_if(blocks.free.begin(), blocks.free.end(), fits);
  if (found == blocks.free.end()) return nullptr;
  void* data = found->data;
  blocks.free.erase(found);
  return data;
}

}  // namespace

Ref<Buffer> Pool::allocate_shared(std::size_t bytes) { return gpu::allocate_shared(context_, bytes); }

Ref<Buffer> allocate_shared(Context& context, std::size_t bytes) {
  check_size(bytes);
  context.enter();
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), 4096);
  Capture* capture = Capture::current(context);
  void* data = capture ? nullptr : take_shared(context.index, rounded);
  if (data) {
    context.synchronize_all("allocate");  // the device may still execute the last owner's writes
  } else {
    check(cuMemHostAlloc(&data, rounded, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "allocating pinned host memory");
  }
  Ref<Buffer> buffer(new SharedBuffer(context, data, bytes, rounded));
  if (capture) capture->keep(buffer);
  return buffer;
}

namespace {
constexpr const char* kCopying = "copying to the device";
}  // namespace

/// Goes on to the next chunk once the copies out of it have arrived.
void Staging::advance(Ring& ring, CUstream stream) {
  if (Chunk& left = ring.chunks[ring.current]; left.data) check(cuEventRecord(left.copied, stream), kCopying);
  ring.current = (ring.current + 1) % kChunks;
  Chunk& chunk = ring.chunks[ring.current];
  if (chunk.data) {
    check(cuEventSynchronize(chunk.copied), kCopying);
  } else {
    if (!chunk.copied) check(cuEventCreate(&chunk.copied, CU_EVENT_DISABLE_TIMING), kCopying);
    void* data = nullptr;
    check(cuMemHostAlloc(&data, kChunkBytes, CU_MEMHOSTALLOC_PORTABLE), "allocating pinned host memory");
    chunk.data = static_cast<std::byte*>(data);
  }
  ring.used = 0;
}

void Staging::pieces(CUstream stream, CUdeviceptr to, const std::byte* from, std::size_t bytes) {
  Ring& ring = rings_[stream];
  while (bytes > 0) {
    // A chunk is filled up only by small copies: large ones start with a whole one, so that they run in few pieces.
    if (bytes > kChunkBytes - ring.used) advance(ring, stream);
    const std::size_t piece = std::min(bytes, kChunkBytes);
    std::byte* pinned = ring.chunks[ring.current].data + ring.used;
    std::memcpy(pinned, from, piece);
    check(cuMemcpyHtoDAsync(to, pinned, piece, stream), kCopying);
    ring.used = std::min(kChunkBytes, round_up(ring.used + piece, kBufferAlignment));
    from += piece;
    to += piece;
    bytes -= piece;
  }
}

Staging::Landing* Staging::landing(std::size_t bytes) {
  Landing& landing = landings_[next_];
  next_ = (next_ + 1) % kLandings;
  if (!landing.came) check(cuEventCreate(&landing.came, CU_EVENT_DISABLE_TIMING), kCopying);
  if (!landing.taken) check(cuEventCreate(&landing.taken, CU_EVENT_DISABLE_TIMING), kCopying);
  if (landing.bytes < bytes) {
    give_up(landing);
    const std::size_t size = round_up(bytes, kLarge);
    if (cuMemAlloc(&landing.data, size) != CUDA_SUCCESS) return nullptr;
    landing.bytes = size;
  }
  return &landing;
}

/// cuMemFree waits for work that may still use the memory.
void Staging::give_up(Landing& landing) {
  if (landing.bytes > 0) check(cuMemFree(landing.data), "releasing memory");
  landing.data = 0, landing.bytes = 0;
}

void Staging::trim() {
  const std::scoped_lock lock(landing_);
  for (Landing& landing : landings_) give_up(landing);
}

void Staging::copy_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  const CUstream stream = context_.stream();
  const bool computes = stream == context_.stream_of(runtime::Use::Compute) && !Capture::current(context_);
  while (bytes >= kLarge && computes) {
    const CUstream copies = context_.stream_of(runtime::Use::Copy);
    const std::size_t piece = std::min(bytes, kLandingBytes);
    const std::scoped_lock lock(landing_);
    Landing* const landing = this->landing(piece);
    if (!landing) break;
    check(cuStreamWaitEvent(copies, landing->taken, CU_EVENT_WAIT_DEFAULT), kCopying);
    pieces(copies, landing->data, source, piece);
    check(cuEventRecord(landing->came, copies), kCopying);
    check(cuStreamWaitEvent(stream, landing->came, CU_EVENT_WAIT_DEFAULT), kCopying);
    check(cuMemcpyDtoDAsync(to, landing->data, piece, stream), kCopying);
    check(cuEventRecord(landing->taken, stream), kCopying);
    source += piece;
    to += piece;
    bytes -= piece;
  }
  pieces(stream, to, source, bytes);
}

}  // namespace tegula::gpu
