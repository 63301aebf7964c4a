#include "tegula/cuda/driver/progress.h"

namespace tegula::gpu {

void Progress::mark() {
  const std::scoped_lock lock(mutex_);
  if (count_ == kMarks) collect();
  if (count_ == kMarks) return;  // there are enough to see by
  CUevent& event = events_[(first_ + count_) % kMarks];
  if (!event) check(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "a mark");
  check(cuEventRecord(event, context_.stream()), "a mark");
  if (count_++ == 0) moved_ = Clock::now();
}

double Progress::stalled() {
  const std::scoped_lock lock(mutex_);
  if (count_ > 0 && cuCtxSetCurrent(context_.context) == CUDA_SUCCESS) collect();
  return count_ == 0 ? 0 : std::chrono::duration<double>(Clock::now() - moved_).count();
}

// A device that is lost is told of by those who wait for it.
void Progress::collect() {
  while (count_ > 0 && cuEventQuery(events_[first_]) != CUDA_ERROR_NOT_READY) {
    first_ = (first_ + 1) % kMarks;
    --count_;
    moved_ = Clock::now();
  }
}

}  // namespace tegula::gpu
