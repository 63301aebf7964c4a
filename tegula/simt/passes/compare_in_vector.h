#pragma once
// Walks over the elements of vectors, and spares most vectors the comparison with a column that the row names.
//
// What: each EachOfVector becomes a loop over its elements. Where its body compares the column with one value of the row (a label, in cross-entropy),
// the vector that has this column gets a copy of the loop of its own; in the copy for all others the comparisons are replaced by what comes of them.
// Why: the named column lies in one vector of many, and a comparison of each element is as dear as the arithmetic beside it.
// Why here: whether there is one such value is seen only when the body of the loop is there, whatever words it was made of.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void compare_in_vector(Kernel& kernel);

}  // namespace tegula::simt
