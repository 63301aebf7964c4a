#pragma once
// Checks that tiles copied for tensor cores are there, for all threads, when these read them, and stay until they have been read.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Follows the first thread through some iterations of each loop. Adds a sentence for each fault.
void check_tiles(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
