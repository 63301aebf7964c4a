#include "tegula/runtime/queue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <variant>

#include "tegula/runtime/device.h"
#include "tegula/runtime/time_marks.h"

namespace tegula::runtime {
std::unique_ptr<Recording> Queue::record(std::span<const RecordedStep> steps) {
  return record([steps] {
    for (const RecordedStep& step : steps) step.work();
  });
}

void ImmediateQueue::launch(const Kernel& kernel, std::span<const ArgumentSet> sets, const LaunchOptions& options) {
  kernel.launch(sets, options);
}
void ImmediateQueue::run(const Call& call, std::span<void* const> buffers, const RunOptions& options) { call.run(buffers, options); }
void ImmediateQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

bool Device::takes(const CallDescription& description) const {
  return std::ranges::any_of(candidates(description), [&](const Candidate& way) { return way.description == description; });
}
double Device::cost(const CallDescription& description) const {
  const std::vector<Candidate> ways = candidates(description);
  if (ways.empty()) return 0;
  return ways.front().seconds ? *ways.front().seconds : seconds_of(ways.front().description, costs());
}

std::unique_ptr<TimeMark> DeviceQueues::time_mark() { return nullptr; }
std::unique_ptr<TimeMark> Device::time_mark() { return queues().time_mark(); }

void throw_no_call(const Device& device, const CallDescription& description) {
  constexpr auto kNames = std::to_array<const char*>({"a call", "matmul", "convolution", "pooling", "attention", "scatter_sum", "packing",
                                                      "host_turn", "cuda_kernel", "matrix_routine", "fourier", "grouped_sum"});
  static_assert(kNames.size() == std::variant_size_v<CallDescription::variant>);
  throw Error({.op = device.name(),
               .got = std::string("a description of ") + kNames[description.index()],
               .expected = "one of a call that this device has",
               .advice = "Device::candidates lists them"});
}

void Device::copy_in(void* device, const void* host, std::size_t bytes) { queue().copy_in(device, host, bytes); }
void Device::copy_out(void* host, const void* device, std::size_t bytes) { queue().copy_out(host, device, bytes); }
void Device::copy(void* to, const void* from, std::size_t bytes) { queue().copy(to, from, bytes); }

}  // namespace tegula::runtime
