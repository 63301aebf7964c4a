#pragma once
// What size tiles should have on a device.

#include <cstdint>

#include "tegula/tile/ladder.h"

namespace tegula::tile {

/// How matrices are cut whose rows are reduced, or meet one row of numbers.
struct StripPreference {
  std::int64_t columns = 256;           // of a tile whose rows are reduced …
  std::int64_t least_columns = 256;     // … which may be narrowed down to this for the sake of more instances
  std::int64_t repeated_elements = 0;   // of a tile of so many columns where vectors meet every row; 0: such work is cut like any other
  std::int64_t accumulated_row = 8192;  // the longest row beside which sums over all rows are carried along …
  std::int64_t accumulators = 64;       // … by this many instances, each of which walks over its share of the rows …
  bool in_turn = false;                 // … which is every so many tiles, instead of tiles that follow each other, …
  std::int64_t short_row = 0;           // … where up to so long rows …
  std::int64_t walked_bytes = 0;        // … make tiles that read about so many bytes, …
  std::int64_t paced_bytes = 0;         // … unless four rows read up to so many, and several sums are carried along
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
  std::int64_t small_elements = 0;  // of a tile where tiles of `elements` would leave most of the machine idle; 0: the same
  StripPreference strips = {};
  LongRowPreference long_rows = {};
  bool kernels_take_long = false;  // to be made: functions of many sizes share them (Ladder)
  Ladder ladder = {};  // of the plan at hand

  /// For a program over `total` elements that are independent of each other.
  std::int64_t elements_for(std::int64_t total) const {
    return small_elements > 0 && total < instances * elements / 4 ? small_elements : elements;
  }
};

}  // namespace tegula::tile
