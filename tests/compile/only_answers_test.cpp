#include "tegula/compile/passes/cut_steady.h"

#include <gtest/gtest.h>

#include "tegula/core/check.h"
#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using test::leaf;

/// The graph of a function whose tensors of two axes stay from run to run.
Graph graph_of(const Tensor& result) {
  const Node* const node = result.node().get();
  Graph graph = flatten(read(std::span(&node, 1)), std::span(&node, 1), {});
  for (Leaf& one : graph.leaves) one.steady = one.shape.rank() >= 2;
  return graph;
}

TEST(OnlyAnswers, AFunctionWhoseResultHasTheShapeOfAWeight) {
  const Tensor x = leaf({8, 8}), w = leaf({8, 8});
  EXPECT_TRUE(only_answers(graph_of(relu(matmul(x, w)))));
}

TEST(OnlyAnswers, NotWhatComesOfAGradientWhateverItsShape) {
  const Tensor x = leaf({4, 8}), w = leaf({8, 8});
  const Tensor gradient = grad(sum(relu(matmul(x, w))), {w})[0];
  EXPECT_FALSE(only_answers(graph_of(gradient)));
  EXPECT_FALSE(only_answers(graph_of(sqrt(sum(gradient * gradient)))));
}

TEST(OnlyAnswers, NotWithoutWeightsNorWhereWhatIsNotFiniteIsFollowed) {
  EXPECT_FALSE(only_answers(graph_of(relu(leaf({8})))));
  const Tensor y = matmul(leaf({4, 8}), leaf({8, 8}));
  const Checking following(Check::Nan);
  EXPECT_FALSE(only_answers(graph_of(y)));
}

}  // namespace
}  // namespace tegula::compile
