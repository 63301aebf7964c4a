#pragma once
// Checks that registers are written before they are read, and by the threads that read them.

#include <set>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Follows a kernel on all its paths. Each register that is read must have been written before, on every path and in all elements; an array is walked by
/// loops over the whole of each of its axes. Values differ among the threads of a column, of a row, or of neither, by what they are computed from: where a
/// register is declared to be alike across threads, its shares must have been brought together before anything else reads it; a sum that only the first
/// row of threads has is read by that row alone; and what one thread of several stores for all of them is the same in each. Adds a sentence for each fault.
void check_registers(const Kernel& kernel, std::set<std::string>& faults);

}  // namespace tegula::simt
