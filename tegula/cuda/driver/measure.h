#pragma once
// The time that work on the GPU takes, under the conditions of its later use: replayed from a CUDA graph.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tegula/cuda/driver/context.h"

namespace tegula::gpu {

/// Microseconds of one run. `run(i)` queues the i-th repetition on context.stream() (use another set of buffers for each i, see
/// RotatingBuffers). Nothing when the work cannot be recorded or fails; work that takes more than `bound` is timed roughly.
std::optional<double> measure(Context& context, const std::function<void(int repetition)>& run, double bound = 1e30);

/// True if the stream is being recorded; measuring is then not possible.
bool is_recording(const Context& context);

/// Several sets of buffers for measuring, enough that a set has left the cache when its turn comes again (eight at most).
class RotatingBuffers {
 public:
  /// One set holds a block of each size, filled with small numbers. Throws Error when memory is short.
  RotatingBuffers(Context& context, const std::vector<std::size_t>& sizes);
  void* operator()(int repetition, std::size_t block) const;

 private:
  Ref<Buffer> memory_;
  std::vector<std::size_t> offsets_;
  std::size_t set_bytes_ = 0;
  int sets_ = 1;
};

/// Tries every candidate and returns the index of the fastest, with its time; nothing when none ran.
struct Fastest {
  std::size_t index = 0;
  double microseconds = 0;
};
std::optional<Fastest> fastest(Context& context, std::size_t candidates,
                               const std::function<void(std::size_t candidate, int repetition)>& run);

}  // namespace tegula::gpu
