#pragma once
// Values that are carried from step to step of an unrolled loop.

#include <vector>

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Which items are such: computed element by element from an item that is computed in the same way, by the same ops from the same weights
/// (c' = f * c + i * g of an LSTM, a running sum). Rounded to half at each step they would lose what is added to them, so the precision pass
/// leaves them as the user wrote them. Layers that follow each other read different weights and are none.
std::vector<bool> recurrent_states(const Graph& graph);

}  // namespace tegula::compile
