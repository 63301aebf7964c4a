#pragma once
// Gives each use of shared memory its place.
//
// What: scratch is as large as its largest use (UseScratch): each use begins and ends with a barrier, so no two uses overlap. The parts of
// reductions are placed one after another: the values that one warp, or one block of a cluster, left for the others are read until all have met at the next one. A
// reduction whose blocks count arrivals has a counter after its parts; one thread prepares the counters before the other blocks run.
// Why: a block's shared memory limits the blocks of a multiprocessor.
// Why here: reductions that share their way across the threads are one statement only when all words are lowered.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void place_shared(Kernel& kernel);

}  // namespace tegula::simt
