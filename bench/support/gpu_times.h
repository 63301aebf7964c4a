#pragma once
// Times of work on a device whose queue runs on by itself.

#include <algorithm>
#include <functional>

#include "bench/measure.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula::bench {

/// The work, run this many times in sequence.
using Runs = std::function<void(int)>;

/// The runs of a jit-ed function, as many as possible in one CUDA graph: as bench/peers/rows_torch.py times PyTorch, and JAX's scan runs.
template <class F, class... Args>
Runs repeated(Jit<F>& step, const Args&... args) {
  return [&step, args...](int times) { step.repeat(times, args...); };
}

/// Median over batches of 16 ms, or ten runs as the peers' scripts have, of the mean time of one run in a batch, in seconds; the device's queue is empty before and after
/// each batch.
inline double timed(const Runs& run) {
  runtime::Device& device = default_device();
  for (int i = 0; i < 4; ++i) run(1);
  device.synchronize();
  const auto batch = [&](int runs) {
    return wall(
               [&] {
                 run(runs);
                 device.synchronize();
               },
               0, 1) /
           runs;
  };
  const double one = batch(1);
  return batch(std::clamp(static_cast<int>(0.016 / std::max(one, 1e-7)), 10, 20000));
}

/// A failure is reported and the rest goes on.
inline void attempt(const char* what, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) { std::printf("%s stopped: %s\n", what, error.what()); }
}

}  // namespace tegula::bench
