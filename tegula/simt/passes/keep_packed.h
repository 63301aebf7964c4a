#pragma once
// Keeps packed values packed until they are used.
//
// What: after a reduction has been combined (Reduced), each packed value that is read later is marked as new (Keep); so is
// each one loaded after a reduction over columns, before the first statement that stores a value made of it.
// Why: a value has the type of its registers: halves two to a register. The compiler would otherwise widen them once for
// all uses, which takes twice the registers across the wait for other threads. A late load is requested as a whole before its first element is
// used, so that it is waited for once.
// Why here: later reads, behind loops and branches, are known only when all statements exist.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void keep_packed(Kernel& kernel);

}  // namespace tegula::simt
