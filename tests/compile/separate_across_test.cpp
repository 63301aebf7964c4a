// A group that is taken apart: values that one half reads of the other are stored, and the rest of the graph is not searched for them.

#include <gtest/gtest.h>

#include "tegula/compile/passes/fusion/fuse.h"
#include "tegula/compile/pipeline.h"
#include "tegula/tegula.h"

namespace tegula::compile {
namespace {

TEST(SeparateAcross, WhatIsStoredIsWhatALookAtAllItemsFinds) {
  const Tensor x = normal({16, 96});
  eval(x);
  std::vector<Wrt> weights;
  const auto weight = [&](const Shape& shape) {
    const Tensor w = normal(shape) * 0.1;
    eval(w);
    weights.emplace_back(w);
    return w;
  };
  Tensor y = x;
  for (int layer = 0; layer < 3; ++layer) y = tanh(matmul(layer_norm(y, {96}) * weight({96}) + weight({96}), weight({96, 96})));
  const std::vector<Tensor> results = grad(sum(square(y)), weights);
  std::vector<const Node*> nodes;
  for (const Tensor& t : results) nodes.push_back(t.node().get());
  Graph graph = flatten(read(nodes), nodes, {});
  runtime::Device& device = runtime::cpu();
  optimize(graph, device);
  Fusion fusion = fuse(graph, device);
  int taken_apart = 0;
  for (int g = 0, count = static_cast<int>(fusion.groups.size()); g < count; ++g) {
    if (fusion.groups[static_cast<std::size_t>(g)].across.empty()) continue;
    separate_across(graph, fusion, g);
    ++taken_apart;
    const std::vector<bool> got = fusion.stored;
    mark_stored(graph, fusion);
    ASSERT_EQ(got, fusion.stored) << "group " << g;
  }
  EXPECT_GE(taken_apart, 3);
}

}  // namespace
}  // namespace tegula::compile
