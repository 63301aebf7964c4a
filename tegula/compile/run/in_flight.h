#pragma once
// Calls of a walk that were begun and are not over yet.

#include <cstdint>
#include <vector>

#include "tegula/runtime/begins.h"
#include "tegula/runtime/timeline.h"

namespace tegula::compile {

/// Whoever leaves the walk, by an exception too, waits for them: they use its memory.
class InFlight {
 public:
  /// `timeline`: where waits are recorded, or null.
  explicit InFlight(runtime::Timeline* timeline) : timeline_(timeline) {}
  ~InFlight() { abandon(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void add(int step, const runtime::Begins& call, std::uint64_t ticket) { all_.push_back({step, &call, ticket}); }
  /// Waits for those begun up to this step. Throws what the first of them threw.
  void finish(int step) {
    while (next_ < all_.size() && all_[next_].step <= step) {
      const Begun begun = all_[next_++];
      const runtime::TimelineSpan span(timeline_, runtime::TimelineEvent::Kind::Wait, "wait");
      begun.call->finish(begun.ticket);
    }
  }
  void finish_all() { finish(all_.empty() ? -1 : all_.back().step); }

 private:
  struct Begun {
    int step;
    const runtime::Begins* call;
    std::uint64_t ticket;
  };
  void abandon() noexcept {
    for (; next_ < all_.size(); ++next_) {
      try {
        all_[next_].call->finish(all_[next_].ticket);
      } catch (...) {  // the exception on its way says more
      }
    }
  }
  runtime::Timeline* timeline_;
  std::vector<Begun> all_;  // in the order of steps
  std::size_t next_ = 0;
};

}  // namespace tegula::compile
