#pragma once
// Checks that a kernel, after its passes, can be run.
//
//   names      what an expression names has been declared around it, or is an argument
//   registers  an array has as many indices as sizes, and the loops that count them are as long as those; what is read has been written on every path
//   holders    the threads that read a number hold it: shares that threads hold alike have been brought together before it is read (registers.h)
//   shared     what a thread wrote into shared memory is read behind a barrier, and not written over before all have read it
//   ring       an iteration reads its own stage, when the copies into it have arrived and no others are on their way there
//   accesses   vectors are whole numbers of accesses
//   held       a thread's declarations fit into its memory
//   passes     no mark is left that a pass should have replaced

#include <string>
#include <vector>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// The faults, a sentence each.
std::vector<std::string> faults(const Kernel& kernel);
/// Throws Error where there is any. With TEGULA_CHECK=plan every kernel is verified.
void verify(const Kernel& kernel);

/// Bytes that a thread declares registers for, at most at a time: not what the compiler keeps of them.
std::size_t register_bytes(const Kernel& kernel);

}  // namespace tegula::simt
