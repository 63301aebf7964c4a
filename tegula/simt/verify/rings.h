#pragma once
// The content of a loop's ring when it is read.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Goes through the first iterations of every loop that has a ring, as one thread does, and follows the copies: each read must find the copy of its own
/// iteration, complete, and no other on its way into the same place. Adds a sentence for each fault.
void check_rings(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
