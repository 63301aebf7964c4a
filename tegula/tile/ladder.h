#pragma once
// Which extents of tiles kernels are made for, where a function is called with ever new sizes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace tegula::tile {

/// The smallest of 1, 4, 16, 32, 64, 128 … that holds so many.
constexpr std::int64_t rung_of(std::int64_t count) {
  if (count <= 1) return 1;
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  return power <= 4 ? 4 : power <= 16 ? 16 : power;
}

/// Exact: a tile has the extent of what it holds, and a mask only where it does not divide it. On the ladder a tile has the extent of a rung and
/// always a mask, so that one kernel serves all sizes up to the rung.
struct Ladder {
  bool on = false;
  std::span<const std::int64_t> same = {};  // ascending: extents that the function has had at all sizes so far stay exact

  bool exact(std::int64_t extent) const { return !on || std::ranges::binary_search(same, extent); }
  /// Of a tile that holds all of it.
  std::int64_t tile_for(std::int64_t extent) const { return exact(extent) ? std::max<std::int64_t>(extent, 1) : rung_of(extent); }
  /// Of a tile that holds at most `most` of it.
  std::int64_t tile_for(std::int64_t extent, std::int64_t most) const {
    if (exact(extent)) return std::max<std::int64_t>(std::min(extent, most), 1);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1))));
    return std::min(rung_of(extent), power);
  }
  /// Whether tiles of so many may reach beyond it.
  bool masked(std::int64_t extent, std::int64_t tile) const { return extent % tile != 0 || (tile > 1 && !exact(extent)); }
};

}  // namespace tegula::tile
