#pragma once
// When a device that queues its work came to points in it.

#include <cstdint>
#include <memory>

#include "tegula/runtime/queue.h"

namespace tegula::runtime {

/// A point in the work of a device.
class TimeMark {
 public:
  virtual ~TimeMark() = default;
  /// Put into the queue, one of its device, like a launch. In a recording it is a piece of work like others, and every replay comes to it anew.
  virtual void set(Queue& queue) = 0;
  /// Nanoseconds from when the device came to `earlier`, one of its own marks, until it came to this one; of each the last time. Both are over (Device::synchronize).
  virtual std::int64_t since(const TimeMark& earlier) const = 0;
};

}  // namespace tegula::runtime
