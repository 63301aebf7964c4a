#pragma once
// Which values of a program are equal: each expression has a number, and two of one number are equal in every instance, every turn of a loop and every
// lane.

#include <cstdint>
#include <optional>
#include <vector>

#include "tegula/tile/ir.h"

namespace tegula::tile {

struct Numbered {
  std::uint64_t number = 0;  // of the expression; of a pointer: of the offset
  std::uint64_t varies = 0;  // a bit for each axis of the grid (the lowest three) and each loop on which the value depends
  int parameter = -1;  // of a pointer: where it comes from; -1: one of several
  std::uint64_t inside = 0;  // of a load, store or atomic word: a bit for each loop that it is in
};

/// Of every instruction, by Id. `arguments`: integers that the launch passes, by parameter, where they are known.
std::vector<Numbered> number_values(const Program& program, const std::vector<std::optional<std::int64_t>>& arguments);

}  // namespace tegula::tile
