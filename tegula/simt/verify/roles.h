#pragma once
// A warp copies tiles for the others (passes/split_roles.h): checks that both go on as the other needs it, whichever is ahead.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Adds a sentence for each fault; none for kernels without a copying warp.
void check_roles(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
