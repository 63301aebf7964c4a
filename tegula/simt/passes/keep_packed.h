#pragma once
// Keeps packed values packed until they are used.
//
// What: behind the place where a reduction has been brought together (Reduced) each packed value that is read later is marked as new (Keep), and so is
// each that was loaded behind a reduction over columns, ahead of the first statement that stores something made of it.
// Why: a value has the type in which it lies in registers: halves two to a register. The compiler knows what they are and would widen them once for
// all uses, which takes twice the registers across the wait for other threads. What is loaded late is asked for as a whole before its first element is
// used, so that it is waited for once.
// Why here: what is read later, behind loops and branches, is seen when all statements are there.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void keep_packed(Kernel& kernel);

}  // namespace tegula::simt
