#pragma once
// Results that are computed elsewhere.

#include <algorithm>

#include "tegula/graph/node.h"

namespace tegula {

/// How many of the first inputs no gradient goes to: what a checkpoint or a custom function computes inside.
inline std::size_t inside_inputs(const Node& node) {
  return node.op().role() == Role::Same ? std::max<std::size_t>(node.results().size(), 1) : 0;
}

}  // namespace tegula
