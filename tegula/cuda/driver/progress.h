#pragma once
// Tells a thread that queues no work if the streams of a device make progress.

#include <cuda.h>

#include <array>
#include <chrono>
#include <mutex>

#include "tegula/cuda/driver/context.h"

namespace tegula::gpu {

/// Marks in the queued work, on any stream, reached in the order in which they were made: a stuck stream holds up the visible progress of the others. Thread-safe; its events are never destroyed, as the device is not.
class Progress {
 public:
  explicit Progress(Context& context) : context_(context) {}
  /// Adds a mark after the work queued so far. The caller holds Context::order, and nothing is being recorded on this thread.
  void mark();
  /// Seconds since a mark was last reached, or since the first waiting mark was made; 0 where none waits.
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
