#pragma once
// Removes pure instructions whose values nobody uses, loads among them, and loops and branches without effect or used result.
// Why: tracing leaves much behind (derivatives that were not asked for, offsets of axes of size 1), and each leftover costs
// a tile of cache in the executor and a register in a kernel.
// Why first: every later pass, the verifier and the compile cache then see only what counts, numbered in order of execution.

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// The same program without dead instructions; ids are given anew, in order of execution. Parameters stay, used or not.
Program remove_dead_code(Program program);

}  // namespace tegula::tile
