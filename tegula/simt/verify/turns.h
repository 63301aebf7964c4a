#pragma once
// Checks that warps that meet at the block's numbered barriers (NumberedBarrier) do so in step, however often their loops go round.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Each wait must find the arrivals that it needs, none may come twice before the others have been there, and none is left over.
void check_turns(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
