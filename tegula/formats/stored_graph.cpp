#include "tegula/formats/stored_graph.h"

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/structural.h"

namespace tegula::formats {
namespace {

/// The gradient that is in the file, as the function of a custom function's node. The captured tensors are those of the graph that the node is in.
Vjp gradient_of(const StoredNode& node, std::vector<Tensor> captured, std::span<const Tensor> constants) {
  const std::string name(node.op->name());
  if (!node.gradient) {
    return [name](const std::vector<Tensor>&, const Tensor& y, const Tensor&) -> std::vector<Tensor> {
      throw Error({.op = name,
                   .got = "a gradient of a node whose gradient is not in its graph file",
                   .expected = "a file with gradients, and of a custom function's gradient no more than three",
                   .advice = "save_graph(path, {.gradients = true}, f, …), or a function that is made of plain ops",
                   .where = y.node()->origin().where});
    };
  }
  return [gradient = node.gradient, captured = std::move(captured), held = std::vector<Tensor>(constants.begin(), constants.end())](
             const std::vector<Tensor>& inputs, const Tensor& y, const Tensor& dy) {
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), {y, dy});
    all.insert(all.end(), captured.begin(), captured.end());
    const std::vector<Tensor> made = build(*gradient, {.inputs = all, .cells = {}, .constants = held});
    std::vector<Tensor> out;
    for (const int output : gradient->outputs) out.push_back(output < 0 ? Tensor() : made[static_cast<std::size_t>(output)]);
    return out;
  };
}

Tensor new_node(const StoredNode& node, const Ref<const Op>& op, std::span<const Tensor> inputs) {
  std::vector<Ref<Node>> refs;
  for (const Tensor& input : inputs) refs.push_back(input.node());
  if (node.several) return Tensor(make<Node>(op, refs, node.results, node.origin));
  Tensor made(make<Node>(op, refs, node.results[0].shape, node.results[0].dtype, node.origin));
  if (op->role() == Role::Part) made.node()->become_part(static_cast<const PartOp&>(*op).index());
  made.node()->raise_zeros(node.zeros);
  return made;
}

}  // namespace

std::vector<Tensor> build(const StoredGraph& graph, const Surroundings& around, bool new_nodes) {
  std::vector<Tensor> made;
  made.reserve(graph.nodes.size());
  const auto at = [&](int number) -> const Tensor& { return made[static_cast<std::size_t>(number)]; };
  for (const StoredNode& node : graph.nodes) {
    const auto index = static_cast<std::size_t>(node.index);
    const PrecisionScope precision(node.precision);
    switch (node.kind) {
      case StoredNode::Kind::Input: made.push_back(around.inputs[index]); break;
      case StoredNode::Kind::Variable: made.push_back(read_cell(around.cells[index], node.origin.where)); break;
      case StoredNode::Kind::Constant: made.push_back(around.constants[index]); break;
      case StoredNode::Kind::Op: {
        if (node.writes >= 0) {
          const Ref<Cell>& cell = around.cells[static_cast<std::size_t>(node.writes)];
          write_cell(cell, at(node.in[0]), node.origin.where);
          made.push_back(read_cell(cell, node.origin.where));
          break;
        }
        std::vector<Tensor> inputs, captured;
        for (const int input : node.in) inputs.push_back(at(input));
        for (const int one : node.captured) captured.push_back(at(one));
        Ref<const Op> op = node.op;
        if (const CustomOp* const custom = CustomOp::of(*op))
          op = make<const CustomOp>(std::string(custom->name()), custom->options(),
                                    gradient_of(node, std::move(captured), around.constants));
        made.push_back(new_node(node, op, inputs));
        if (new_nodes && !node.several) note_new_nodes(std::span(&made.back().node(), 1));
        break;
      }
    }
  }
  return made;
}

Ref<const Region> region_of(const StoredGraph& graph, std::span<const Tensor> constants) {
  std::vector<Tensor> leaves;
  for (const StoredNode& node : graph.nodes) {
    if (node.kind != StoredNode::Kind::Input) continue;
    const auto index = static_cast<std::size_t>(node.index);
    if (leaves.size() <= index) leaves.resize(index + 1);
    leaves[index] = Tensor(make<Node>(leaf_op(), std::span<const Ref<Node>>(), node.results[0].shape, node.results[0].dtype, node.origin));
  }
  const std::vector<Tensor> made = build(graph, {.inputs = leaves, .cells = {}, .constants = constants}, false);
  std::vector<Ref<Node>> parameters, nodes, results;
  for (const Tensor& leaf : leaves) parameters.push_back(leaf.node());
  for (std::size_t i = 0; i < made.size(); ++i)
    if (graph.nodes[i].kind == StoredNode::Kind::Op) nodes.push_back(made[i].node());
  for (const int output : graph.outputs) results.push_back(made[static_cast<std::size_t>(output)].node());
  return Region::of(std::move(parameters), std::move(nodes), std::move(results));
}

}  // namespace tegula::formats
