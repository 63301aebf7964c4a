#pragma once
// Whether the streams of a device get on with their work, for a thread that queues none.

#include <cuda.h>

#include <array>
#include <chrono>
#include <mutex>

#include "tegula/cuda/driver/context.h"

namespace tegula::gpu {

/// Marks among what is queued, on whichever stream it is, reached in the order in which they were made: a stream that is stuck holds up what the others are seen to do. Thread-safe; its events are never destroyed, as the device is not.
class Progress {
 public:
  explicit Progress(Context& context) : context_(context) {}
  /// Behind what is queued by now. The caller holds Context::order, and nothing is being recorded on this thread.
  void mark();
  /// Seconds since a mark was last reached, or the first of those that wait was made; 0 where none waits.
  double stalled();

 private:
  void collect();

  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMarks = 64;
  Context& context_;
  std::mutex mutex_;
  std::array<CUevent, kMarks> events_{};  // a ring
  unsigned first_ = 0, count_ = 0;
  Clock::time_point moved_{};
};

}  // namespace tegula::gpu
