#include "tegula/compile/passes/dtypes.h"

#include <algorithm>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {

void widen_numbers(Graph& graph) {
  if (std::ranges::none_of(graph.items, [](const Item& item) { return LoopOp::of(*item.op) != nullptr; })) return;
  rewrite(graph, [](Rewriter& rewriter, int, Item& item) {
    const LoopOp* const loop = LoopOp::of(*item.op);
    for (std::size_t k = 0; loop && k < item.inputs.size(); ++k) {
      const Item& input = rewriter.out()[item.inputs[k]];
      const DType wanted = loop->input_dtype(static_cast<int>(k), item.dtype);
      if (loop->input(k) != LoopOp::Input::Number || input.role() == Role::Scalar || input.dtype == wanted) continue;
      item.inputs[k] = rewriter.insert(cast_op(), {item.inputs[k]}, input, {.dtype = wanted});
    }
  });
}

}  // namespace tegula::compile
