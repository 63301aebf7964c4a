#pragma once
// Checks the numbers that a block sends to another one of its cluster.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// All blocks meet between the last use of what lies there and what is sent, and again before that is read, or before a block leaves.
void check_sends(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
