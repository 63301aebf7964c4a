#pragma once
// Which line of the user's program a call works for.

#include "tegula/core/line.h"


namespace tegula::runtime {

/// While it lives, the step that this thread runs comes from `where`: for calls whose failure must name a line, and which many lines share.
class CallSite {
 public:
  explicit CallSite(const Line& where) : before_(current_) { current_ = &where; }
  ~CallSite() { current_ = before_; }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  /// An empty location outside of calls.
  static Line current() { return current_ ? *current_ : Line(); }

 private:
  static inline thread_local const Line* current_ = nullptr;
  const Line* before_;
};

}  // namespace tegula::runtime
