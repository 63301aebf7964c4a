#include "tegula/cuda/driver/peers.h"

#include <mutex>
#include <set>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr const char* kCopying = "copying between GPUs";

/// Makes later work of `behind` wait for the work that `ahead` has queued. Never holds both locks: two threads may copy in opposite directions.
void hold_up(const Context& behind, const Context& ahead) {
  const BriefEvent reached(ahead, kCopying);
  {
    const std::scoped_lock lock(ahead.order);
    ahead.enter();
    check(cuEventRecord(reached.get(), ahead.stream()), kCopying);
  }
  const std::scoped_lock lock(behind.order);
  behind.enter();
  check(cuStreamWaitEvent(behind.stream(), reached.get(), CU_EVENT_WAIT_DEFAULT), kCopying);
}

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
  hold_up(to, from);
  {
    const std::scoped_lock lock(to.order);
    to.enter();
    check(cuMemcpyPeerAsync(device_pointer(to_memory), to.context, device_pointer(from_memory), from.context, bytes, to.stream()),
          kCopying);
  }
  hold_up(from, to);
  return true;
}

}  // namespace tegula::gpu
