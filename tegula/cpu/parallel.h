#pragma once
// Work shared between threads.

#include <omp.h>

#include <cstdint>

#include "tegula/cpu/pool.h"
#include "tegula/runtime/threads.h"

namespace tegula::host {

/// The most parts a library call will be cut into; its scratch is sized for them. Plans are made for one number of threads, and their calls
/// with them.
inline int library_threads() { return num_threads(); }

/// Calls body(part, parts) for each part, on as many threads; see run_parts. One part is a plain call.
template <class F>
void parallel(int parts, F&& body) {
  if (parts <= 1) {
    body(0, 1);
    return;
  }
  const auto both = [&](int part) { body(part, parts); };
  run_parts(parts, [](const void* context, int part) { (*static_cast<decltype(both)*>(context))(part); }, &both);
}

/// Part `part` of [0, count) cut into `parts` runs whose lengths differ by at most one.
struct Range {
  std::int64_t begin = 0, end = 0;
};
inline Range share(std::int64_t count, std::int64_t part, std::int64_t parts) { return {count * part / parts, count * (part + 1) / parts}; }

/// While it lives, oneDNN works on the calling thread alone. Its own threads (OpenMP's) wait for each other without end where processors are
/// shared, cannot live through fork, and end the process where the system refuses one; so it is given the parts of a piece of work instead.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace tegula::host
