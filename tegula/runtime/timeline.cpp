#include "tegula/runtime/timeline.h"

#include <chrono>
#include <utility>

namespace tegula::runtime {

std::int64_t Timeline::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Timeline::add(TimelineEvent event) {
  const std::lock_guard lock(mutex_);
  if (count_++ < kMost) events_.push_back(std::move(event));
}

std::size_t Timeline::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<TimelineEvent> Timeline::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

}  // namespace tegula::runtime
