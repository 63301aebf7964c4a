#pragma once
// Checks the boxes that the copy engine takes from shared memory.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Follows the first warp. A box's content was written, fenced and met before it is taken; nobody writes there until its thread has awaited it and threads have
/// met; one thread has it taken; and all is awaited before the block ends.
void check_stores(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
