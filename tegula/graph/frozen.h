#pragma once
// Cells that training leaves as they are (nn/freeze.h).

#include "tegula/graph/variable.h"

namespace tegula {

/// Whether gradients with respect to the cell's Parameter, and updates of it, are left out. A trace that asks is made again where other cells are frozen.
bool is_frozen(const Cell& cell);
void set_frozen(const Cell& cell, bool frozen);
/// From now on `part` is frozen when `whole` is: a rank's part of a parameter.
void freeze_with(const Cell& part, const Cell& whole);

}  // namespace tegula
