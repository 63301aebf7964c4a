#pragma once
// Walks over the elements of vectors, and spares most vectors the comparison with a column that the row names.
//
// What: each EachOfVector becomes a loop over its elements. If its body compares the column with one value of the row (a label, in cross-entropy),
// the vector that contains this column gets a copy of the loop; in the copy for all others the comparisons are replaced by their known results.
// Why: the named column is in one vector of many, and a comparison of each element costs as much as the arithmetic beside it.
// Why here: the existence of such a value shows only in the loop's body, whatever words it was made of.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

void compare_in_vector(Kernel& kernel);

}  // namespace tegula::simt
