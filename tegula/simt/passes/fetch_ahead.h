#pragma once
// Begins the loads of a loop some iterations before they are needed.
//
// What: of a loop that says what it fetches (For::OfProgram::fetches) each such load becomes a copy into a ring of stages in shared memory, begun in an
// earlier iteration or ahead of the loop, and a load from there. A copy's address is computed again for the later iteration, by those scalar
// statements of the loop that follow from its counter. A thread copies what it will hold itself (cp.async, sm_80), and later reads its own copy: no
// barrier, and no registers for what is on its way.
// Why: an iteration alone has too few bytes on their way to keep memory busy.
// Why here: which loads, how far ahead and in how many stages is decided before (decide/rings.cpp); how they are written is seen in their statements,
// whatever words they come from. Ahead of all other passes: those place barriers around what this one writes.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void fetch_ahead(Kernel& kernel);

}  // namespace tegula::simt
