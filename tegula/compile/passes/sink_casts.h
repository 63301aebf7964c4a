#pragma once
// Casts move to where values are read.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Parameters in half are widened by the group that reads them, not by a kernel of their own.
///
/// Parameters in half that are broadcast to f32 work are widened where they are read, not before: the cast moves behind the views, where a
/// group takes it in, and no f32 copy is written. After assign_layouts (an order is given to whole values), before materialize.
void sink_casts(Graph& graph);

}  // namespace tegula::compile
