#pragma once
// Places barriers where a thread could read an element before another thread has written it, or after that thread has overwritten it.
//
// What: each Touch becomes a barrier, or nothing. A barrier stands before an access to memory of tensors that may be the place of an earlier access
// by another thread, where one of the two writes, since the last time that all threads have met. Likewise before the first copy into a ring that the
// loop before may still be read from by others (UseRing, OpenRing), and before the first statement that another block of the cluster could take part
// in (MeetCluster).
// Why: threads write tensors that other threads of the same kernel read again; a barrier at each such place would cost as much as the work.
// Why here: the points where threads meet anyway (reductions) are known only when all statements exist. An iteration may touch the memory that the one
// before touched: a loop is walked twice, the first time for its final state.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void place_barriers(Kernel& kernel);

}  // namespace tegula::simt
