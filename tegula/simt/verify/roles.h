#pragma once
// A warp copies tiles for the others (passes/split_roles.h): whether both go on as the other needs it, whoever is ahead.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Adds what is wrong. Of kernels without such a warp nothing is.
void check_roles(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
