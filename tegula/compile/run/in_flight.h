#pragma once
// Exchanges of a run that were begun and that other steps have not waited for yet.

#include <cstdint>
#include <vector>

#include "tegula/runtime/begins.h"
#include "tegula/runtime/device.h"
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

/// The same where steps are queued: in the device's queue for exchanges, behind what is in that for computing.
class QueuedInFlight {
 public:
  explicit QueuedInFlight(runtime::Device& device)
      : compute_(device.queue(runtime::Use::Compute)),
        exchange_(device.queue(runtime::Use::Exchange)) {}
  ~QueuedInFlight() { abandon(); }
  QueuedInFlight(const QueuedInFlight&) = delete;
  QueuedInFlight& operator=(const QueuedInFlight&) = delete;

  runtime::Queue& compute() const { return compute_; }
  /// Queues what the step does.
  template <class Work>
  void add(int step, const Work& work) {
    exchange_.wait(compute_.mark());
    unmarked_ = true;
    work(exchange_);
    all_.push_back({step, exchange_.mark()});
    unmarked_ = false;
  }
  /// What is queued from here on waits for those begun up to this step.
  void finish(int step) {
    std::size_t end = next_;
    while (end < all_.size() && all_[end].step <= step) ++end;
    if (end == next_) return;
    compute_.wait(all_[end - 1].over);
    next_ = end;
  }
  void finish_all() { finish(all_.empty() ? -1 : all_.back().step); }

 private:
  struct Begun {
    int step;
    runtime::Event over;
  };
  void abandon() noexcept {
    try {
      if (unmarked_) compute_.wait(exchange_.mark());
      else finish_all();
    } catch (...) {  // the exception on its way says more
    }
  }
  runtime::Queue &compute_, &exchange_;
  std::vector<Begun> all_;  // in the order of steps
  std::size_t next_ = 0;
  bool unmarked_ = false;  // something was put in, and not marked
};

}  // namespace tegula::compile
