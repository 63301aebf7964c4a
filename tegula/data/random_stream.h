#pragma once
// Philox words one after the other: what data preparation draws from. The same numbers everywhere, unlike the std distributions.

#include <array>
#include <cstdint>

#include "tegula/core/philox.h"

namespace tegula::data {

/// Stream `stream` of `seed`. Streams are independent: one per image, per epoch … Holds 2^66 words.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : key_{low(seed), high(seed)}, stream_{low(stream), high(stream)} {}

  std::uint32_t word() {
    if (used_ == 4) {
      words_ = philox4x32({low(block_), high(block_), stream_[0], stream_[1]}, key_);
      ++block_;
      used_ = 0;
    }
    return words_[used_++];
  }
  /// A number in [0, 1), a multiple of 2^-24.
  float uniform() { return static_cast<float>(word() >> 8) * 0x1p-24f; }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// A number in [0, bound) without bias, for bound >= 1 (Lemire, "Fast random integer generation in an interval", 2019).
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{word()} * bound;
    if (low(product) < bound) {
      const std::uint32_t threshold = -bound % bound;
      while (low(product) < threshold) product = std::uint64_t{word()} * bound;
    }
    return high(product);
  }
  /// Mean 0, variance 1: the sum of a word's four bytes, close to normal and within ±3.46. For noise, not for initialisers.
  float noise() {
    const std::uint32_t w = word();
    const auto sum = static_cast<float>((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24));
    return (sum - 510.0f) * (1.0f / 147.79716f);  // the deviation of the sum: sqrt(4 (256^2 - 1) / 12)
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
  static constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

  std::array<std::uint32_t, 2> key_, stream_;
  std::array<std::uint32_t, 4> words_{};
  std::uint64_t block_ = 0;
  int used_ = 4;
};

}  // namespace tegula::data
