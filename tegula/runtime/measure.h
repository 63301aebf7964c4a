#pragma once
// Times and ceilings of a device, measured the same way everywhere.

#include <functional>

#include "tegula/runtime/device.h"

namespace tegula::runtime {

struct MeasureOptions {
  double seconds = 0.5;  // about how long to measure; at least `batches` batches of one run
  int batches = 7;       // the median is over these
  int warm_up = 3;       // runs before: compilation, caches, clocks
};

struct Timing {
  double median = 0, fastest = 0;  // over the batches, in seconds per run
};

/// The time that one run of `work` takes. On an asynchronous device the runs of a batch are queued one after another and waited for once, so
/// that the measured time is the device's pace and not the latency.
Timing measure(Device& device, const std::function<void()>& work, const MeasureOptions& options = {});

/// Bytes per second, read plus written, of the fastest copies of `bytes` within the device: by all threads on the CPU, by the device's own copy elsewhere.
double copy_rate(Device& device, std::size_t bytes = std::size_t{256} << 20, const MeasureOptions& options = {});

}  // namespace tegula::runtime
