// A view, a barrier, a stop of gradients and an op with a gradient of its own are four things.
#include <gtest/gtest.h>

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/compile/passes/simplify.h"
#include "tegula/graph/graph_ops.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/same_op.h"
#include "tegula/graph/structural.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

Role role_of(const Tensor& x) { return x.node()->op().role(); }

Tensor behind(const Tensor& x, const Tensor& other) { return make_node(barrier_op(), {x, other}, x.shape(), x.dtype(), Line::current()); }

Tensor own_gradient(const Tensor& x) {
  return custom_function(
      "tripled", [](const std::vector<Tensor>& in) { return in[0] * 3.0; },
      [](const std::vector<Tensor>&, const Tensor&, const Tensor& dy) { return std::vector{dy * 30.0}; }, {x});
}

TEST(Roles, EachHasOneMeaning) {
  const Tensor x = ones({2, 3}), other = x + 1.0;
  EXPECT_EQ(role_of(reshape(other, {6})), Role::View);
  EXPECT_EQ(role_of(behind(x, other)), Role::Barrier);
  EXPECT_EQ(role_of(stop_gradient(other)), Role::Stop);
  EXPECT_EQ(role_of(own_gradient(x)), Role::Same);
  EXPECT_EQ(role_of(checkpoint([](const std::vector<Tensor>& in) { return exp(in[0]); }, {x})), Role::Same);
}

TEST(Roles, AllShowTheirFirstInputAndOnlyViewsAnotherLayout) {
  const Layout layout = Layout::dense({2, 3});
  const Tensor x = ones({2, 3}), y = x + 1.0;
  for (const Tensor& one : {behind(x, y), stop_gradient(y), own_gradient(x)}) {
    ASSERT_TRUE(shows_input(role_of(one)));
    EXPECT_EQ(shown(one.node()->op(), layout), layout) << one.node()->op().name();
  }
  EXPECT_NE(shown(transpose(y).node()->op(), layout), layout);
  EXPECT_FALSE(shows_input(role_of(y)));
}

TEST(Roles, GradientsGoWhereEachSays) {
  const Tensor x = full({2}, 2.0), y = full({2}, 5.0);
  const auto by = [&](const Tensor& result, const Tensor& target) { return grad(sum(result + 0.0 * (x + y)), target).to_host<double>(); };
  EXPECT_EQ(by(behind(x * 4.0, y * 7.0), x), (std::vector<double>{4, 4}));
  EXPECT_EQ(by(behind(x * 4.0, y * 7.0), y), (std::vector<double>{0, 0}));
  EXPECT_EQ(by(stop_gradient(x * 4.0), x), (std::vector<double>{0, 0}));
  EXPECT_EQ(by(own_gradient(x), x), (std::vector<double>{30, 30}));
}

TEST(Roles, OnlyWhatACheckpointOrAFunctionComputesIsInside) {
  const Tensor x = ones({2});
  EXPECT_EQ(inside_inputs(*own_gradient(x).node()), 1u);
  EXPECT_EQ(inside_inputs(*behind(x, x).node()), 0u);
  EXPECT_EQ(inside_inputs(*stop_gradient(x).node()), 0u);
  const auto two = checkpoints([](const std::vector<Tensor>& in) { return std::vector{exp(in[0]), sin(in[0])}; }, {x});
  EXPECT_EQ(inside_inputs(two[0].node()->input(0)), 2u);
}

TEST(Roles, TheCompilerKeepsViewsAndBarriersAlone) {
  const Tensor x = ones({2, 3});
  const Tensor y = stop_gradient(own_gradient(x)), z = behind(transpose(exp(y)), sin(y));
  const Node* const root = z.node().get();
  const compile::Reading reading = compile::read({&root, 1});
  compile::Graph graph = compile::flatten(reading, {&root, 1}, {});
  compile::simplify(graph);
  int transposes = 0, barriers = 0;
  for (const compile::Item& item : graph.items) {
    EXPECT_NE(item.role(), Role::Stop);
    EXPECT_NE(item.role(), Role::Same);
    transposes += item.op->name() == "permute", barriers += item.role() == Role::Barrier;
  }
  EXPECT_EQ(transposes, 1);
  EXPECT_EQ(barriers, 1);
}

}  // namespace
}  // namespace tegula
