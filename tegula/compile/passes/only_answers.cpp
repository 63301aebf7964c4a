#include "tegula/compile/passes/only_answers.h"

#include <algorithm>

#include "tegula/core/check.h"

namespace tegula::compile {

bool only_answers(const Graph& graph) {
  if (!graph.updates.empty() || checking(Check::Nan)) return false;
  const auto is_weight = [](const Leaf& leaf) { return leaf.steady && leaf.shape.rank() >= 2; };
  const auto has_shape_of_weight = [&](int output) {
    return std::ranges::any_of(graph.leaves, [&](const Leaf& leaf) { return is_weight(leaf) && leaf.shape == graph[output].shape; });
  };
  return std::ranges::any_of(graph.leaves, is_weight) && std::ranges::none_of(graph.outputs, has_shape_of_weight);
}

}  // namespace tegula::compile
