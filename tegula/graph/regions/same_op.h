#pragma once
// Results that are computed elsewhere.

#include <algorithm>

#include "tegula/graph/node.h"

namespace tegula {

/// The number of the first inputs that get no gradient: nodes that a checkpoint or a custom function computes inside.
inline std::size_t inside_inputs(const Node& node) {
  return node.op().role() == Role::Same ? std::max<std::size_t>(node.results().size(), 1) : 0;
}

}  // namespace tegula
