#pragma once
// A timeline of events: the steps of plans, the exchanges between ranks, and the waits for those. Recorded on request only.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tegula::runtime {

struct TimelineEvent {
  enum class Kind : std::uint8_t {
    Call,      // a library call: products, convolutions
    Program,   // a launch of a tile program
    Exchange,  // with other ranks, wherever it is carried out
    Wait,      // the computing thread's wait for an exchange
  };
  Kind kind = Kind::Program;
  std::string name;
  std::int64_t begin = 0, end = 0;  // nanoseconds of Timeline::now
  std::int64_t met = 0;    // Exchange: when its ranks had come; bytes move from here on
  std::int64_t bytes = 0;  // Exchange: of its input
  std::int64_t run = 0;    // the run of a plan in which it is a step, from 1 on; 0: none
  std::string where = {};  // the user's line
};

class Timeline {
 public:
  static constexpr std::size_t kMost = 200'000;  // events; later ones are not kept

  /// This thread's timeline; null if nothing is recorded.
  static Timeline* current() { return current_; }
  /// Nanoseconds of a monotonic clock that all processes of a machine share.
  static std::int64_t now();

  void add(TimelineEvent event);
  /// The number of events, kept or not, and the kept ones in the order of their ends.
  std::size_t count() const;
  std::vector<TimelineEvent> events() const;

  /// Numbers runs of plans on the thread that computes; a plan within a plan belongs to the outer one.
  class Run {
   public:
    explicit Run(Timeline* timeline) : timeline_(timeline) {
      if (timeline_ && timeline_->depth_++ == 0) ++timeline_->run_;
    }
    ~Run() {
      if (timeline_) --timeline_->depth_;
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// The timeline that records this run's steps; null within another run.
    Timeline* outermost() const { return timeline_ && timeline_->depth_ == 1 ? timeline_ : nullptr; }

   private:
    Timeline* timeline_;
  };
  /// 0 outside of them.
  std::int64_t run() const { return depth_ > 0 ? run_ : 0; }

 private:
  friend class TimelineScope;
  static inline thread_local Timeline* current_ = nullptr;
  std::int64_t run_ = 0;  // of the computing thread, as is depth_
  int depth_ = 0;
  mutable std::mutex mutex_;
  std::vector<TimelineEvent> events_;
  std::size_t count_ = 0;
};

/// Records the time while it lives as one event; null: records nothing.
class TimelineSpan {
 public:
  TimelineSpan(Timeline* timeline, TimelineEvent::Kind kind, const std::string& name, std::string where = {}) : timeline_(timeline) {
    if (timeline_) event_ = {.kind = kind, .name = name, .begin = Timeline::now(), .run = timeline_->run(), .where = std::move(where)};
  }
  ~TimelineSpan() {
    if (!timeline_) return;
    event_.end = Timeline::now();
    timeline_->add(std::move(event_));
  }
  TimelineSpan(const TimelineSpan&) = delete;
  TimelineSpan& operator=(const TimelineSpan&) = delete;

 private:
  Timeline* timeline_;
  TimelineEvent event_;
};

/// Records the work of this thread while it lives. Null: nothing.
class TimelineScope {
 public:
  explicit TimelineScope(Timeline* timeline) : before_(Timeline::current_) { Timeline::current_ = timeline; }
  ~TimelineScope() { Timeline::current_ = before_; }
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Timeline* before_;
};

}  // namespace tegula::runtime
