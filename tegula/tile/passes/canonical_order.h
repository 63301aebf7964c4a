#pragma once
// Brings words without effect into the order in which they are needed.
// Why: C++ leaves open which argument of a call is computed first. `dot(load(a), load(b))` is recorded in one order by one compiler and in the other by another: the
// same values, but another program to caches of kernels and files of plans.
// Why behind dead code: every word is needed by some effect.

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// The same program. Effects, loops and branches stay in their order, and what stands between two of them stays between them: loads do not cross stores.
Program in_canonical_order(Program program);

}  // namespace tegula::tile
