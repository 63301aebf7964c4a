#include "tegula/compile/passes/order_effects.h"

#include <algorithm>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {

void order_effects(Graph& graph) {
  if (std::ranges::none_of(graph.items, [](const Item& item) { return effect_of(*item.op) != Effect::None; })) return;
  const ValuesOf values_of(graph);
  std::vector<int> before;  // values of the last one, any of which is there once it has run
  rewrite(graph, [&](Rewriter& rewriter, int i, Item& item) {
    if (effect_of(*item.op) == Effect::None) return;
    if (!before.empty()) {
      std::vector<int> inputs{item.inputs[0]};
      for (const int value : before) inputs.push_back(rewriter.now(value));
      item.inputs[0] = rewriter.insert(barrier_op(), std::move(inputs), rewriter.out()[item.inputs[0]]);
    }
    before.clear();
    for (const int value : values_of(i)) {
      if (value >= 0) before.push_back(value);
    }
  });
}

}  // namespace tegula::compile
