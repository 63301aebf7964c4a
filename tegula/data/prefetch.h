#pragma once
// Threads that make batches ahead of time. Batches come out in the order in which they were requested.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::data {

class Prefetch {
 public:
  using Make = std::function<std::vector<HostArray>()>;

  /// If the system refuses threads, there are fewer or none, and a warning is given.
  explicit Prefetch(int workers);
  /// Waits for the batches being made.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// Asks for one more. `make` is called once, by one of the threads (by take() when there are none).
  void ask(Make make);
  /// The number of batches that were asked for and not taken.
  std::size_t waiting() const;
  /// The oldest that was asked for; waits for it. Throws what making it threw.
  std::vector<HostArray> take();
  /// Drops all requested batches.
  void forget();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::data
