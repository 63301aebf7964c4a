#pragma once
// The flat graph of values that are pending, as the first passes leave it.

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/compile/passes/simplify.h"
#include "tegula/graph/tensor.h"

namespace tegula::test {

inline compile::Graph flat(const std::vector<Tensor>& outputs) {
  std::vector<const Node*> roots;
  for (const Tensor& output : outputs) roots.push_back(output.node().get());
  const compile::Reading reading = compile::read(roots);
  compile::Graph graph = compile::flatten(reading, roots, {});
  compile::simplify(graph);
  return graph;
}

inline bool is_product(const compile::Item& item) { return item.role() == Role::Library && item.op->numerics() == Numerics::TensorCore; }

}  // namespace tegula::test
