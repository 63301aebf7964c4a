#pragma once
// Puts a check of its place ahead of every load, store and atomic word, and masks what failed it.
// Why: a pointer is an address, and on most machines an address outside of a tensor is somebody else's memory: what is read there is noise, what is
// written there is found much later. TEGULA_CHECK=tile asks for this pass (ops/tile_kernel.h).
// Why last: an address is followed through loops and branches as the number of its element, which every later change of the program would have to keep.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {

/// What a pointer parameter points at.
struct Extent {
  int parameter = 0;
  std::int64_t elements = 0;
  int marks = -1;  // the parameter of u8 flags, one for each element, that are set where it is stored; -1: none
};

/// One load, store or atomic word through one parameter.
struct PlaceCheck {
  Word word = Word::Load;
  std::size_t extent = 0;  // which of those given
  Line where{};
};

struct CheckedPlaces {
  Program program;
  std::vector<PlaceCheck> checks;  // check k fails with the id first_id + k
};

/// `program`, finished; a pointer parameter without an extent is not checked, and of more than 64 the rest.
CheckedPlaces check_places(Program program, std::span<const Extent> extents, std::int64_t first_id);

/// What such a check fails with.
struct PlaceFailure {
  std::int64_t element = 0;  // counted from the tensor's first one; what is farther away than 2^35 is told as if it were there
  std::int64_t instance = 0;  // of the grid, the first axis innermost; the last number that can be told is 2^27 - 1
};
PlaceFailure place_failure(std::int64_t value);

}  // namespace tegula::tile
