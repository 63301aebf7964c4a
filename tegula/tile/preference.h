#pragma once
// The sizes of tiles on a device.

#include <cstdint>

#include "tegula/tile/ladder.h"

namespace tegula::tile {

/// How matrices are cut whose rows are reduced, or meet one row of numbers. Each device has numbers of its own (Device::tiles), measured there.
struct StripPreference {
  std::int64_t columns = 256;  // columns of a tile that sums over its rows
  std::int64_t least_columns = 256;  // lower bound of `columns` when there would be too few instances
  std::int64_t repeated_elements = 0;  // elements of a tile of rows that all meet the same vectors; 0: cut as any other elementwise work
  std::int64_t accumulated_row = 8192;  // elements of a row: up to this length sums over all rows (of weights' gradients) are carried along
  std::int64_t accumulators = 64;  // instances that carry such sums, each over its share of the rows
  bool in_turn = false;  // an instance's share is every `accumulators`-th tile; false: tiles that follow each other
  std::int64_t short_row = 0;  // elements of a row: up to this length a tile holds several rows while sums are carried along
  std::int64_t walked_bytes = 0;  // bytes that such a tile reads
  std::int64_t paced_bytes = 0;  // bytes that four rows read: up to this a tile is four rows where several sums are carried along
};

/// Long rows, reduced and written each as a whole, that meet a row of numbers: where so many bytes of a row are read, a few are one tile.
struct LongRowPreference {
  std::int64_t rows = 1;
  std::int64_t bytes = 0;  // of a row, from here on
  std::int64_t most_bytes = -1;
  // The same where what meets every row is larger than the row: more of them, up to so many bytes.
  std::int64_t bytes_of_fewer = 0;
  std::int64_t more_rows = 1, bytes_of_more = -1;
};

/// How the lowering should cut its tiles.
struct TilePreference {
  std::int64_t elements = 2048;  // of a tile of 4-byte values
  std::int64_t longest_row = 8192;  // rows up to this long are kept as one tile while they are reduced
  // From so many instances on a reduction needs no splitting. A fixed number: results must not depend on how much of the machine is free.
  std::int64_t instances = 16;
  std::int64_t longest_sort = 0;  // lines up to this long are sorted in one tile, longer ones in pieces that are merged; 0: any
  std::int64_t small_elements = 0;  // of a tile, if tiles of `elements` would leave most of the machine idle; 0: the same
  StripPreference strips = {};
  LongRowPreference long_rows = {};
  bool warp_groups = false;  // groups of four warps multiply and a warp copies for them (wgmma, TMA)
  bool kernels_take_long = false;  // to be made: functions of many sizes share them (Ladder)
  Ladder ladder = {};  // of the present plan

  /// For a program over `total` elements that are independent of each other.
  std::int64_t elements_for(std::int64_t total) const {
    return small_elements > 0 && total < instances * elements / 4 ? small_elements : elements;
  }
};

}  // namespace tegula::tile
