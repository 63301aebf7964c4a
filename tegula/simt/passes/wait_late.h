#pragma once
// Waits for the launch ahead as late as a kernel can (programmatic dependent launch).
//
// What: the wait, and what follows it where every thread begins, moves from there into the kernel's body, in front of the first statement that reads what
// a launch of the plan may write, or that another launch may see. Loads behind that place of what no launch writes, such as weights, go ahead of the wait,
// with the numbers that they need. Statements that compute in registers, and that nothing ahead of the wait reads, stay behind it.
// Why: a kernel that begins while the one ahead of it runs has its first loads on their way when that one ends. Every block waits, whatever it does: so
// the launches ahead of the one ahead are over, too, when that one is. (H200: a decoder's launches of 2 us overlap.)
// Why here: what a statement touches is said by marks (Touch), which place_barriers takes away, and a load that fetch_ahead has cut into copies could no
// longer move. Clusters leave together, and where blocks go over instances in turn some have nothing to do: those wait where they begin.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void wait_late(Kernel& kernel);

}  // namespace tegula::simt
