#pragma once
// 64 bits that stand for a text: in the names of kernels, and of the files that keep them.

#include <cstdint>
#include <string_view>

namespace tegula::gpu {

constexpr std::uint64_t kTextHashSeed = 0xcbf29ce484222325ull;

inline std::uint64_t text_hash(std::string_view text, std::uint64_t h = kTextHashSeed) {
  while (!text.empty()) {
    std::uint64_t word = text.size();
    const std::size_t taken = text.copy(reinterpret_cast<char*>(&word), sizeof word);
    text.remove_prefix(taken);
    h = (h ^ word) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace tegula::gpu
