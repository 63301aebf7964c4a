#pragma once
// Threads for the library calls: the OpenMP pool that oneDNN uses too.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace tegula::host {

/// The most threads a library call will use; its scratch is sized for them.
inline int library_threads() { return std::max(1, std::max(omp_get_max_threads(), omp_get_num_procs())); }

/// Runs body(thread, threads) on each of `threads` threads. One thread means a plain call: no OpenMP region is entered, because
/// a region beside a busy process costs 10-20 µs. The body must not throw.
template <class F>
void parallel(int threads, F&& body) {
  if (threads <= 1) {
    body(0, 1);
    return;
  }
#pragma omp parallel num_threads(threads)
  body(omp_get_thread_num(), omp_get_num_threads());
}

/// Part `part` of [0, count) cut into `parts` runs whose lengths differ by at most one.
struct Range {
  std::int64_t begin = 0, end = 0;
};
inline Range share(std::int64_t count, std::int64_t part, std::int64_t parts) { return {count * part / parts, count * (part + 1) / parts}; }

/// Sets the calling thread's OpenMP thread count for code that reads it (oneDNN), and restores it.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) : before_(omp_get_max_threads()), changed_(threads != before_) {
    if (changed_) omp_set_num_threads(threads);
  }
  ~ThreadLimit() {
    if (changed_) omp_set_num_threads(before_);
  }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
  bool changed_;
};

}  // namespace tegula::host
