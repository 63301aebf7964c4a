#pragma once
// Cells that training leaves as they are (nn/freeze.h).

#include "tegula/graph/variable.h"

namespace tegula {

/// True if the cell's Parameter gets no gradients and no updates. A trace that asks is made again when other cells are frozen.
bool is_frozen(const Cell& cell);
void set_frozen(const Cell& cell, bool frozen);
/// From now on `part` is frozen when `whole` is: a rank's part of a parameter.
void freeze_with(const Cell& part, const Cell& whole);

}  // namespace tegula
