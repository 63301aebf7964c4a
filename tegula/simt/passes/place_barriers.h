#pragma once
// Puts barriers where a thread could find what another thread has not written yet, or has written over already.
//
// What: each Touch becomes a barrier, or nothing. A barrier stands before an access to memory of tensors that may be the place of an earlier access
// by another thread, where one of the two writes, since the last time that all threads have met. Likewise before the first copy into a ring that the
// loop before may still be read from by others (UseRing, OpenRing), and before the first statement that another block of the cluster could take part
// in (MeetCluster).
// Why: threads write tensors that other threads of the same kernel read again; a barrier at each such place would cost as much as the work.
// Why here: where threads meet anyway (reductions) is known only when all statements are there. What an iteration touches the one before may have
// touched: a loop is walked twice, the first time for what it leaves.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void place_barriers(Kernel& kernel);

}  // namespace tegula::simt
