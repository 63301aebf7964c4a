#include "tegula/runtime/queue.h"

#include <cstring>

#include "tegula/runtime/device.h"

namespace tegula::runtime {
std::unique_ptr<Recording> Queue::record(std::span<const RecordedStep> steps) {
  return record([steps] {
    for (const RecordedStep& step : steps) step.work();
  });
}

void ImmediateQueue::launch(const Kernel& kernel, std::span<const ArgumentSet> sets, const LaunchOptions& options) {
  kernel.launch(sets, options);
}
void ImmediateQueue::run(const Call& call, std::span<void* const> buffers, void* scratch, int threads) {
  call.run(buffers, scratch, threads);
}
void ImmediateQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void Device::copy_in(void* device, const void* host, std::size_t bytes) { queue().copy_in(device, host, bytes); }
void Device::copy_out(void* host, const void* device, std::size_t bytes) { queue().copy_out(host, device, bytes); }
void Device::copy(void* to, const void* from, std::size_t bytes) { queue().copy(to, from, bytes); }

}  // namespace tegula::runtime
