#pragma once
// Parameters of a program that a launch knows more of than the program: a stride that is 1, a pointer that nothing uses.
// Why at a launch: the program is written down once for all layouts; what a tensor's layout is, its plan decides.

#include <cstdint>

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// From now on scalar parameter `index` is this integer, whatever the launch says.
void fix_parameter(Program& program, std::int64_t index, std::int64_t value);
/// Takes away a parameter that nothing uses; those behind it move up.
void drop_parameter(Program& program, std::int64_t index);

}  // namespace tegula::tile
