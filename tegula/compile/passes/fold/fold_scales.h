#pragma once
// Factors per channel go into weights.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A factor per channel after a convolution goes into its weight, if both stay from run to run.
///
/// A factor per channel behind a convolution, or behind its bias, goes into the weight and the bias where they are steady: batch normalisation by
/// running statistics costs nothing. The sum behind it gets the dtype in which the next pass can fold it. After precision, which decides that dtype.
void fold_scales(Graph& graph);

}  // namespace tegula::compile
