#pragma once
// Begins the copies of tiles that products of a loop take some iterations before they are needed.
//
// What: the tiles that a loop copies (CopyTile) go into a ring of stages in shared memory, begun in an earlier iteration or before the loop. In each
// iteration a thread waits for its own copies and then for all others, so that each may read what any of them copied; behind that barrier nobody reads the stage
// before, and the next tiles are copied there.
// If the copy engine brings all of them (box_bytes), one thread asks for it, and a counter of bytes for each stage says what has come. The next tiles are
// asked for behind the iteration's products, when those of the iteration before are over: into the stage which these have read.
// Why: tensor cores take an iteration's tiles in the time of a few hundred cycles; memory answers in a thousand.
// Why here: beside fetch_ahead, whose form it has; a loop has one of the two (decide/decide.cpp), as both count groups of copies.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void fetch_tiles(Kernel& kernel);

}  // namespace tegula::simt
