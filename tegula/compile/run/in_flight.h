#pragma once
// Exchanges of a run that were begun and that other steps have not waited for yet.

#include <functional>
#include <utility>
#include <vector>

#include "tegula/runtime/timeline.h"

namespace tegula::compile {

/// The destructor waits for them, also after an exception: they use the run's memory.
class InFlight {
 public:
  /// `timeline`: where waits are recorded, or null.
  explicit InFlight(runtime::Timeline* timeline) : timeline_(timeline) {}
  ~InFlight() { abandon(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  /// `wait`: for the exchange that this step, behind those added before, has begun.
  void add(int step, std::function<void()> wait) { all_.push_back({step, std::move(wait)}); }
  /// Waits for those begun up to this step. Throws what the first of them threw.
  void finish(int step) {
    while (next_ < all_.size() && all_[next_].step <= step) {
      const Begun& begun = all_[next_++];
      const runtime::TimelineSpan span(timeline_, runtime::TimelineEvent::Kind::Wait, "wait");
      begun.wait();
    }
  }
  void finish_all() { finish(all_.empty() ? -1 : all_.back().step); }

 private:
  struct Begun {
    int step;
    std::function<void()> wait;
  };
  void abandon() noexcept {
    for (; next_ < all_.size(); ++next_) {
      try {
        all_[next_].wait();
      } catch (...) {  // the exception on its way says more
      }
    }
  }
  runtime::Timeline* timeline_;
  std::vector<Begun> all_;  // in the order of steps
  std::size_t next_ = 0;
};

}  // namespace tegula::compile
