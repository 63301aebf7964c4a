#pragma once
// Gives each use of shared memory its place.
//
// What: scratch is as large as its largest use (UseScratch): each use begins and ends with a barrier, so that none lives beside another. The parts of
// reductions lie one behind the other: what one warp, or one block of a cluster, left for the others is read until all have met at the next one. A
// reduction whose blocks count what has arrived has a counter behind its parts; one thread prepares the counters before the other blocks run.
// Why: a block's shared memory decides how many blocks a multiprocessor holds.
// Why here: reductions that share their way across the threads are one statement only when all words are lowered.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void place_shared(Kernel& kernel);

}  // namespace tegula::simt
