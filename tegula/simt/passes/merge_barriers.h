#pragma once
// Makes barriers that directly follow each other one.
//
// What: a barrier of the block behind another one goes, if all threads come to both and nothing is executed between them: lines of the program (Origin)
// and notes may stand there.
// Why: nobody can have written anything since the first. Where an operand of a product (not of tensor cores) is put in shared memory behind another one,
// the barrier behind the first store and the one ahead of the second stand side by side: each iteration of such a product, and of attention, met twice.
// Why here: passes put barriers beside the lowering's own (convert_layouts, place_barriers), so it comes behind them; behind place_shared
// no mark stands between two barriers any more (UseScratch).

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void merge_barriers(Kernel& kernel);

}  // namespace tegula::simt
