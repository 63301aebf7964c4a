#pragma once
// Moves tiles from one layout to another.
//
// What: each Convert becomes assignments of registers, exchanges between the lanes of a warp, or a way through shared memory, in which the lanes' words are in
// different banks for writing and for reading (layouts/conversion.h chooses among the three).
// Why: values of other threads go through lanes without a barrier; row after row in shared memory, the lanes of a warp would use few banks.
// Why here: the layouts are decided before, but the order of the words is known only here. Before the placing of shared memory, which it uses.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void convert_layouts(Kernel& kernel);

}  // namespace tegula::simt
