#include "tegula/cuda/driver/peers.h"

#include <mutex>
#include <set>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr const char* kCopying = "copying between GPUs";

/// What a stream had when it was recorded; another waits for that.
class Mark {
 public:
  explicit Mark(const Context& context) {
    const std::scoped_lock lock(context.order);
    context.enter();
    check(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), kCopying);
    record(context);
  }
  ~Mark() { cuEventDestroy(event_); }  // the driver keeps it until nobody waits for it
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  void holds_up(const Context& context) const {
    const std::scoped_lock lock(context.order);
    context.enter();
    check(cuStreamWaitEvent(context.stream(), event_, 0), kCopying);
  }

 private:
  void record(const Context& context) {
    const CUresult result = cuEventRecord(event_, context.stream());
    if (result != CUDA_SUCCESS) cuEventDestroy(event_);
    check(result, kCopying);
  }
  CUevent event_ = nullptr;
};

/// Lets the first read the other's memory, where the machine can. Once for each two.
void see(const Context& one, const Context& other) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> asked;
  const std::scoped_lock lock(mutex);
  if (!asked.emplace(one.index, other.index).second) return;
  int can = 0;
  check(cuDeviceCanAccessPeer(&can, one.device, other.device), kCopying);
  if (can == 0) return;
  const std::scoped_lock order(one.order);
  one.enter();
  const CUresult result = cuCtxEnablePeerAccess(other.context, 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED && result != CUDA_ERROR_TOO_MANY_PEERS) check(result, kCopying);
}

}  // namespace

bool copy_from_peer(const Context& to, void* to_memory, const Context& from, const void* from_memory, std::size_t bytes) {
  if (Capture::current(to) || Capture::current(from)) return false;
  if (bytes == 0) return true;
  see(to, from);
  // Never both locks at once: two threads may copy in opposite directions.
  Mark(from).holds_up(to);
  {
    const std::scoped_lock lock(to.order);
    to.enter();
    check(cuMemcpyPeerAsync(device_pointer(to_memory), to.context, device_pointer(from_memory), from.context, bytes, to.stream()),
          kCopying);
  }
  Mark(to).holds_up(from);
  return true;
}

}  // namespace tegula::gpu
