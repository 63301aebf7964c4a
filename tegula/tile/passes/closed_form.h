#pragma once
// Writes what a loop carries, and only moves by the same amount in each iteration, as first + amount · iteration; such values are no longer carried.
// Why: pointers that move along (`p += BK`, as most tile kernels are written) are addresses that nobody knows anything about. As closed forms
// they are affine again: loads of neighbours are wide, loops fetch ahead, and no thread holds arrays of pointers.
// Integers and pointers only: floats would round otherwise.
// Why when the program is finished: both machines, and every analysis of plans, then see the same affine values.

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// The same program with those values in closed form; ids as remove_dead_code gives them.
Program close_forms(Program program);

}  // namespace tegula::tile
