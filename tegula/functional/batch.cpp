#include "tegula/functional/batch.h"

#include <algorithm>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/functional/rules.h"
#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/structural.h"

namespace tegula::functional {

void Batch::set(const Tensor& stand_in, Mapped value) {
  oldest_ = std::min(oldest_, stand_in.node()->sequence());
  values_[stand_in.node().get()] = {value};
  stand_ins_.push_back({stand_in, std::move(value)});
}

Mapped Batch::value(const Ref<Node>& node) const {
  const auto found = values_.find(node.get());
  return found == values_.end() ? Mapped{Tensor(node), false} : found->second[0];
}

Shape Batch::with_examples(const Shape& shape, const Node& node) const {
  if (shape.rank() == kMaxRank) {
    throw Error(
        {.op = "vmap",
         .got = std::string(node.op().name()) + " at " + to_string(node.origin().where) + " with a tensor of shape " + to_string(shape),
         .expected = "at most " + std::to_string(kMaxRank - 1) + " axes, so that the examples have room in front",
         .advice = "join axes with reshape, or use scan",
         .where = where_});
  }
  Shape all = shape;
  all.insert(0, count_);
  return all;
}

Tensor Batch::spread(const Mapped& x) const {
  return x.varies ? x.value : graph::expand(x.value, with_examples(x.value.shape(), *x.value.node()), where_);
}

Tensor Batch::copy_over(const Node& node) const {
  std::vector<Tensor> inputs;
  for (const Ref<Node>& input : node.inputs()) inputs.push_back(value(input).value);
  const PrecisionScope precision(node.precision());
  return copy_node(node, inputs);
}

std::vector<Mapped> Batch::made_anew(const Node& node) {
  if (node.is_part()) return {values_.at(node.inputs()[0].get())[static_cast<std::size_t>(static_cast<const PartOp&>(node.op()).index())]};
  std::vector<Mapped> inputs, out;
  for (const Ref<Node>& input : node.inputs()) inputs.push_back(value(input));
  const PrecisionScope precision(node.precision());
  for (Tensor& result : over_examples(*this, node, inputs)) {
    result.node()->raise_zeros(node.zeros());
    out.push_back({std::move(result), true});
  }
  return out;
}

std::vector<Mapped> Batch::values(std::span<const Tensor> results) {
  const std::scoped_lock lock(graph_mutex());
  std::vector<Ref<Node>> order, stack;
  std::unordered_set<const Node*> seen;
  for (const Tensor& result : results) stack.push_back(result.node());
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    stack.pop_back();
    if (values_.contains(node.get()) || node->sequence() < oldest_ || !seen.insert(node.get()).second) continue;
    order.push_back(node);
    for (const Ref<Node>& input : node->inputs()) stack.push_back(input);
  }
  std::ranges::sort(order, {}, [](const Ref<Node>& node) { return node->sequence(); });
  for (const Ref<Node>& node : order) {
    bool replaced = false, varies = false;
    for (const Ref<Node>& input : node->inputs()) {
      const auto known = values_.find(input.get());
      if (known == values_.end()) continue;
      replaced = true;
      varies |= known->second[0].varies;
    }
    if (!replaced) continue;  // the same for all, and used as it is
    values_[node.get()] = varies ? made_anew(*node) : std::vector<Mapped>{{copy_over(*node), false}};
    held_.push_back(node);
  }
  std::vector<Mapped> out;
  for (const Tensor& result : results) out.push_back(value(result.node()));
  return out;
}

}  // namespace tegula::functional
