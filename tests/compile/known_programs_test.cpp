// Equal groups of a plan are lowered once: what tells groups apart must tell their programs apart.

#include "tegula/compile/plan/known_programs.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "tegula/compile/pipeline.h"
#include "tegula/core/check.h"
#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using test::leaf;

std::set<Words> programs_of(const std::vector<Tensor>& results) {
  const Checking off(Check::Plan, false);  // which would lower each group, to compare
  std::vector<const Node*> nodes;
  for (const Tensor& result : results) nodes.push_back(result.node().get());
  Graph graph = flatten(read(nodes), nodes, {});
  optimize(graph, runtime::cpu());
  std::set<Words> out;
  for (const Step& step : make_plan(std::move(graph), runtime::cpu()).steps)
    if (step.launch()) out.insert(*step.launch()->structure);
  return out;
}

TEST(KnownPrograms, AreThoseOfGroupsThatAreLoweredAlone) {
  const std::vector<std::function<Tensor()>> groups{
      [] { return tanh(leaf({48, 64}) * 2.f) + 1.f; },
      [] { return tanh(leaf({48, 64}) * 2.f) + 1.f; },  // the same again
      [] { return tanh(leaf({37, 61}) * 2.f) + 1.f; },  // a tile that is not whole
      [] { return tanh(leaf({48, 64}, f16) * 2.f) + 1.f; },
      [] { return tanh(transpose(leaf({64, 48}), 0, 1) * 2.f) + 1.f; },
      [] { return tanh(leaf({48, 1}) * 2.f) + leaf({48, 64}); },
      [] { return tanh(leaf({48, 64}) * 2.f) + leaf({1, 64}); },
      [] { return sigmoid(leaf({48, 64}) * 2.f) + 1.f; },
      [] {
        const Tensor x = leaf({48, 64});
        return tanh(x * 2.f) + x;
      },  // one operand twice
      [] { return tanh(leaf({48, 64}) * 2.f) + leaf({48, 64}); },
      [] { return sum(tanh(leaf({48, 64}) * 2.f), {1}); },
      [] { return sum(tanh(leaf({48, 64}) * 2.f), {0}); },
      [] { return max(tanh(leaf({48, 64}) * 2.f), {1}); },
      [] { return sum(tanh(leaf({48, 100000}) * 2.f), {1}); },  // in two programs
      [] { return softmax(leaf({48, 64}), 1); },
      [] { return softmax(leaf({48, 63}), 1); },
  };
  std::set<Words> alone;
  std::vector<Tensor> all;
  for (const auto& group : groups) {
    alone.merge(programs_of({group()}));
    all.push_back(group());
  }
  EXPECT_EQ(programs_of(all), alone);
  EXPECT_GE(alone.size(), 12u);
}

// A plan of a long loop that is written out has thousands of steps, which move in memory as it is made: the description of a call stays outside of them.
TEST(KnownPrograms, StepsAreSmall) { EXPECT_LT(sizeof(Step), 1024u); }

}  // namespace
}  // namespace tegula::compile
