#pragma once
// The hash FNV-1a (Fowler, Noll and Vo): for names and keys that other processes compute, too.

#include <cstdint>

namespace tegula {

/// A hash of words, each taken as one step: bytes, ranks, words of a key.
class FnvHash {
 public:
  void add(std::uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace tegula
