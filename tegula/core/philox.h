#pragma once
// Philox 4x32-10, the counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

#include <array>
#include <cstdint>

namespace tegula {

/// Four 32-bit words for one 128-bit counter and 64-bit key. The same on every device, bit for bit.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * counter[0];
    const std::uint64_t b = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The 32-bit word at position `index` of the stream of `seed`: word index%4 of the block with counter index/4.
constexpr std::uint32_t philox_word(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t block = index / 4;
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[index % 4];
}

}  // namespace tegula
