#pragma once
// Calls that can go on beside others.

#include <cstdint>
#include <span>

namespace tegula::runtime {

/// What a Call is as well that need not be over when it returns.
class Begins {
 public:
  virtual ~Begins() = default;
  /// Begins what run() does and returns at once, with what finish() takes. Until it is finished the memory is the call's: nobody writes what it reads, or
  /// touches what it writes. One thread begins and finishes.
  virtual std::uint64_t begin(std::span<void* const> buffers, void* scratch) const = 0;
  /// Waits for what was begun, and for what was begun before it. Throws what it threw.
  virtual void finish(std::uint64_t ticket) const = 0;
};

}  // namespace tegula::runtime
