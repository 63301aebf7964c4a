#pragma once
// The values of attribute2 of Sort and ArgSort.

#include "tegula/tile/ir.h"

namespace tegula::tile {

struct SortOrder {
  bool descending = false;
  std::int64_t ordered = 0;  // the result is in order up to there, behind it is any order; 0: all of it

  static SortOrder of(const Instruction& instruction) { return {instruction.attribute2 % 2 != 0, instruction.attribute2 / 2}; }
  std::int64_t packed() const { return 2 * ordered + (descending ? 1 : 0); }
};

}  // namespace tegula::tile
