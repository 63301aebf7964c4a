#pragma once
// The number of threads that the CPU computes with. Declared here, defined in cpu/.

#include "tegula/core/line.h"

namespace tegula {

/// The threads that share a large piece of work, the calling one included. At first OMP_NUM_THREADS, else the processors this process may use.
int num_threads();
/// Sets the number for all threads of the program, from the next evaluation on; plans made for another number are compiled again for this one. Results
/// may differ in their last bits between numbers of threads, never between two runs with the same. Throws Error unless 1 <= threads <= 1024.
void set_num_threads(int threads, Line where = Line::current());

}  // namespace tegula
