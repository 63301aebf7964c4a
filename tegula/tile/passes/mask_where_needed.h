#pragma once
// Leaves a mask out where it holds for a whole tile: in a loop x = where(mask, x, other) of a tile becomes a branch, by one scalar, into x and that.
// What: masks made of comparisons of positions (arange, scalars, their sums and differences) hold for all elements if they do at the ends of the positions.
// Why: of an attention's scores only the tiles on the diagonal, and the last one, need a mask; a comparison and a choice for each element of all others cost as
// much as the exponential does.
// Why apart from the passes of a finished program: a machine that holds a tile in registers gains by it.

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// The same program with such branches in loops that multiply tiles; ids of other values stay.
Program mask_where_needed(Program program);

}  // namespace tegula::tile
