#pragma once
// Begins the copies of tiles of a loop that come apart (For::Tiles::apart): several products of an iteration read them one after the other.
//
// What: each tile has a ring of its own in shared memory, and a counter of bytes for each of its stages. An iteration waits for a tile where its first product is
// (AwaitTile); behind its last one (FreeTile), when all threads are there, one of them asks the copy engine for the tile of a later iteration, into the same stage.
// Why: while one tile is multiplied the other one comes, so that one stage of each is enough, and two blocks fit into a multiprocessor: attention multiplies by
// keys, then by values.
// Why here: fetch_tiles is the other form of it; a loop has one of the two.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Appends what stands in the place of the loop.
void fetch_apart(For loop, Block& out);

}  // namespace tegula::simt
