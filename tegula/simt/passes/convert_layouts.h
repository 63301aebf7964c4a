#pragma once
// Moves tiles from one layout to another.
//
// What: each Convert becomes assignments of registers, exchanges between the lanes of a warp, or a way through shared memory whose words lie in another
// bank for each lane, when they are written and when they are read (layouts/conversion.h says which of the three).
// Why: what another thread needs goes through lanes without a barrier; row after row in shared memory the lanes of a warp would meet in a few banks.
// Why here: which layouts meet is decided before, in what order the words are read only here. Ahead of the placing of shared memory, which it uses.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void convert_layouts(Kernel& kernel);

}  // namespace tegula::simt
