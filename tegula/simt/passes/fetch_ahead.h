#pragma once
// Begins the loads of a loop some iterations before they are needed.
//
// What: each load that a loop lists as fetched (For::OfProgram::fetches) becomes a copy into a ring of stages in shared memory, begun in an
// earlier iteration or before the loop, and a load from there. A copy's address is computed again for the later iteration, by the scalar
// statements of the loop that follow from its counter. A thread copies the elements that it will hold itself (cp.async, sm_80), and later reads its own copy:
// no barrier, and no registers for data under way.
// Why: an iteration alone has too few bytes under way to keep memory busy.
// Why here: the loads, the distance and the number of stages are decided before (decide/rings.cpp); their form is in their statements,
// whatever words they come from. Before all other passes: those place barriers around the statements of this one.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void fetch_ahead(Kernel& kernel);

}  // namespace tegula::simt
