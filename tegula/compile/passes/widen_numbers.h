#pragma once
// The dtype of a loop's numbers.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A loop takes its scalars in the dtype that it computes in (LoopOp::Input::Number), also a scalar that has become a value in half (a body's
/// parameter).
///
/// A number where the loop was written may be a value of a half dtype in the graph it ends in: within the body of another loop, after a
/// checkpoint's barrier, where it is differentiated by. First: all other passes may then rely on the dtypes.
void widen_numbers(Graph& graph);

}  // namespace tegula::compile
