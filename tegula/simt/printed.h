#pragma once
// The output of a kernel's threads. They leave elements in a buffer; when the launch is over the host makes a line of each tile.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/tile/printed.h"

namespace tegula::simt {

/// An element of a tile, as threads leave it.
struct PrintedElement {
  std::int64_t id[3] = {};  // the instance
  std::int64_t bits = 0;    // of f64, or of i64
  std::int32_t word = 0, index = 0;  // in the list of printed_words; row-major in the tile
};

/// The last argument of a kernel that prints, `PrintBuffer* printed`, in memory that host and device see. `count` goes on where there is no room left.
struct PrintBuffer {
  static constexpr std::uint32_t kRoom = 8192;
  std::uint32_t count = 0, room = kRoom;
  PrintedElement elements[kRoom];
};

/// A program's words Print, at their texts' numbers. Empty if it prints nothing.
using PrintedWords = std::vector<tile::PrintedWord>;
PrintedWords printed_words(const tile::Program& program);

/// Shows a line for each tile, in the order of the instances; what an instance prints comes in its order. `lost`: elements for which there was no room.
void show_printed(const PrintedWords& words, std::span<const PrintedElement> elements, std::uint32_t lost = 0);
/// The same of a buffer, which is empty behind it.
void show_printed(const PrintedWords& words, PrintBuffer& buffer);

}  // namespace tegula::simt
