// Calls that the device would rather have in other ops.

#include "tegula/compile/passes/spell_out.h"

#include <algorithm>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/trace.h"

namespace tegula::compile {
namespace {

/// The ops that stand for a call, over leaves in the order of its inputs; nothing when the call stays.
std::optional<Graph> spelled_out(const Item& call, const Graph& inputs_in, const runtime::Device& device) {
  Trace trace(call.origin.where);
  for (int input : call.inputs) trace.argument(inputs_in[input].shape, inputs_in[input].dtype);
  const std::vector<Tensor>& inputs = trace.arguments();
  const std::vector<Tensor> results = call.as<LibraryOp>().spelled_out(device, inputs);
  if (results.empty()) return std::nullopt;
  const Node* const result = results[0].node().get();
  const Reading reading = read({&result, 1});
  Graph ops = flatten(reading, {&result, 1}, {});
  for (Item& item : ops.items) {
    item.node = -1;
    item.precision = call.precision;
    item.origin = call.origin;
    if (item.role() != Role::Leaf) continue;
    const Node* const leaf = reading.leaves[static_cast<std::size_t>(item.slot)];
    item.slot = static_cast<int>(std::ranges::find(inputs, leaf, [](const Tensor& x) { return x.node().get(); }) - inputs.begin());
  }
  return ops;
}

}  // namespace

void spell_out(Graph& graph, const runtime::Device& device) {
  Rewriter rewriter(graph);
  rewriter.each([&](int, Item& item) {
    if (item.role() != Role::Library || !item.results.empty() || item.precision == Precision::fp8) return;
    auto ops = spelled_out(item, rewriter.out(), device);
    if (!ops) return;
    std::vector<int> now;
    for (Item& part : ops->items) {
      for (int& input : part.inputs) input = now[static_cast<std::size_t>(input)];
      const bool is_result = now.size() == static_cast<std::size_t>(ops->outputs[0]);
      if (is_result) part.node = item.node;
      now.push_back(part.role() == Role::Leaf ? item.inputs[static_cast<std::size_t>(part.slot)] : is_result ? -1 : rewriter.add(part));
    }
    item = (*ops)[ops->outputs[0]];
  });
  graph = rewriter.finish();
}

}  // namespace tegula::compile
