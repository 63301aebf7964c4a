#pragma once
// Random numbers as unsigned words.

#include <vector>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

std::vector<Tile> philox_of(DType word, TileArg seed, TileArg c0, TileArg c1, TileArg c2, TileArg c3, int rounds);
/// The four words of Philox-4x with the counter (c0, c1, c2, c3) and the seed as key, of 32 bits or, philox<std::uint64_t>, of 64: Triton's, bit for bit.
/// Counters of other dtypes are taken modulo 2^32 or 2^64. (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.)
template <class T = std::uint32_t>
std::vector<Tile> philox(TileArg seed, TileArg c0, TileArg c1, TileArg c2, TileArg c3, int rounds = 10) {
  static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>,
                "philox has words of std::uint32_t and of std::uint64_t");
  return philox_of(dtype_of<T>(), seed, c0, c1, c2, c3, rounds);
}

/// The words of randint and randint4x as another dtype of 32 bits: randint<std::uint32_t>(seed, offsets).
template <class T>
Tile randint(TileArg seed, TileArg offsets) {
  return bitcast<T>(randint(seed, offsets));
}
template <class T>
std::vector<Tile> randint4x(TileArg seed, TileArg offsets) {
  std::vector<Tile> words;
  for (const Tile& word : randint4x(seed, offsets)) words.push_back(bitcast<T>(word));
  return words;
}

}  // namespace tegula::tile
