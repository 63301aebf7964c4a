#pragma once
// The nodes of a graph that values are made of.

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "tegula/graph/node.h"

namespace tegula {

/// The nodes of `stack` and all below them, each once, in program order; nothing below a node for which `ends` is true.
template <class Ends>
std::vector<const Node*> nodes_below(std::vector<const Node*> stack, Ends ends) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    order.push_back(node);
    if (ends(*node)) continue;
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  std::ranges::sort(order, {}, &Node::sequence);
  return order;
}

}  // namespace tegula
