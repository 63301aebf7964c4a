#pragma once
// Which jit-ed functions a thread is inside of, so that one that calls itself is refused instead of traced without end.

#include <utility>

namespace tegula::compile {

/// While it lives, the body of this function runs on this thread: traced, or as a part of another's trace.
class Running {
 public:
  explicit Running(const void* function) : function_(function), outer_(std::exchange(innermost, this)) {}
  ~Running() { innermost = outer_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static bool contains(const void* function) {
    for (const Running* at = innermost; at; at = at->outer_) {
      if (at->function_ == function) return true;
    }
    return false;
  }

 private:
  static inline thread_local const Running* innermost = nullptr;
  const void* function_;
  const Running* outer_;
};

}  // namespace tegula::compile
