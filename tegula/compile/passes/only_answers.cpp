#include "tegula/compile/passes/only_answers.h"

#include <algorithm>

#include "tegula/core/check.h"
#include "tegula/graph/frame.h"

namespace tegula::compile {

bool only_answers(const Graph& graph) {
  if (!graph.updates.empty() || checking(Check::Nan)) return false;
  const auto is_weight = [](const Leaf& leaf) { return leaf.steady && leaf.shape.rank() >= 2; };
  const auto is_backward = [](const Item& item) { return is_within(item.origin, kGradFrame); };
  return std::ranges::any_of(graph.leaves, is_weight) && std::ranges::none_of(graph.items, is_backward);
}

}  // namespace tegula::compile
