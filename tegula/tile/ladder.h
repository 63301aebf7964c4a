#pragma once
// Which extents of tiles kernels are made for, where a function is called with ever new sizes.

#include <cstdint>
#include <span>

namespace tegula::tile {

/// Exact: a tile has the extent of what it holds, and a mask only where it does not divide it. On the ladder a tile has the extent of a rung and
/// always a mask, so that one kernel serves all sizes up to the rung.
struct Ladder {
  bool on = false;
  std::span<const std::int64_t> same = {};  // ascending: extents that the function has had at all sizes so far stay exact …
  std::span<const std::int64_t> changing = {};  // … unless they are known to follow a size, and are the same by chance
  /// For each node of the trace (Item::node): the axes that had another extent in the first trace, one bit each. May be empty.
  std::span<const std::uint32_t> varies = {};

  bool exact(std::int64_t extent) const;
  std::uint32_t axes_that_vary(int node) const {
    return on && node >= 0 && static_cast<std::size_t>(node) < varies.size() ? varies[static_cast<std::size_t>(node)] : 0;
  }
  /// The extent of a tile that holds all of it: few rungs for small ones, from 64 on powers of two, so that fewer than half of the elements are outside.
  std::int64_t whole(std::int64_t extent) const;
  /// The extent of a tile that holds at most `most` of it.
  std::int64_t share(std::int64_t extent, std::int64_t most) const;
  /// Columns of a tile of so many elements over (rows, columns) that are independent of each other: on the ladder few of them, unless there
  /// are too few rows for the rest.
  std::int64_t columns(std::int64_t rows, std::int64_t columns, std::int64_t elements) const;
  /// True if tiles of this extent may reach beyond it.
  bool masked(std::int64_t extent, std::int64_t tile) const;
};

}  // namespace tegula::tile
