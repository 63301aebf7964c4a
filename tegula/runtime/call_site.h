#pragma once
// Which line of the user's program a call works for.

#include <source_location>

namespace tegula::runtime {

/// While it lives, the step that this thread runs comes from `where`: for calls whose failure must name a line, and which many lines share.
class CallSite {
 public:
  explicit CallSite(const std::source_location& where) : before_(current_) { current_ = &where; }
  ~CallSite() { current_ = before_; }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  /// An empty location outside of calls.
  static std::source_location current() { return current_ ? *current_ : std::source_location(); }

 private:
  static inline thread_local const std::source_location* current_ = nullptr;
  const std::source_location* before_;
};

}  // namespace tegula::runtime
