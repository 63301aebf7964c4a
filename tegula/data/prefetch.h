#pragma once
// Threads that make batches ahead of time. What they make comes out in the order in which it was asked for.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::data {

class Prefetch {
 public:
  using Make = std::function<std::vector<HostArray>()>;

  /// Where the system refuses threads there are fewer, or none, and a warning.
  explicit Prefetch(int workers);
  /// Waits for what is being made.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// Asks for one more. `make` is called once, by one of the threads (by take() when there are none).
  void ask(Make make);
  /// How many were asked for and not taken.
  std::size_t waiting() const;
  /// The oldest that was asked for; waits for it. Throws what making it threw.
  std::vector<HostArray> take();
  /// Nobody wants what was asked for any more.
  void forget();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::data
