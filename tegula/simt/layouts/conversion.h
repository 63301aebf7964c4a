#pragma once
// The conversion of numbers from one linear layout to another.

#include "tegula/simt/layouts/linear.h"

namespace tegula::simt {

struct Conversion {
  enum class Way : std::uint8_t {
    Registers,  // every thread has what it needs
    Lanes,      // another lane of the warp has it
    Shared,     // through shared memory
  };
  Way way = Way::Shared;
  /// Registers, Lanes: where the number for a place of the target lies, one column for each bit of the place.
  std::vector<Spot> of_registers, of_lanes, of_warps;
  /// Shared: from an element's number to its word in memory. The lanes of a warp write to and read from words of different banks: the words' low bits
  /// are one to one both on the elements that the lanes write together and on those that they read together. A matrix like this always exists, as two
  /// spaces of one size have a common complement.
  Columns words;

  /// The source of the number at this place.
  Spot source_of(const Spot& target) const;
};

/// The conversion of tiles of 2^bits elements. `from` covers the tile; several places may hold one element, on both sides.
Conversion conversion_of(const Linear& from, const Linear& to, int bits, std::size_t element_bytes);
/// The way through shared memory, whether or not there is a shorter one.
Conversion through_shared(const Linear& from, const Linear& to, int bits, std::size_t element_bytes);

}  // namespace tegula::simt
