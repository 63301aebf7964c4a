#include "tegula/graph/regions/region.h"

#include <algorithm>
#include <unordered_set>

#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/regions/same_op.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

Ref<Node> parameter_like(const Node& node) {
  return make<Node>(leaf_op(), std::span<const Ref<Node>>(), node.shape(), node.dtype(), node.origin());
}

bool may_fail(const Op& op) {
  switch (op.role()) {
    case Role::Elementwise: return static_cast<const ElementwiseOp&>(op).has_check();
    case Role::Kernel: return static_cast<const KernelOp&>(op).has_check();
    default: {
      const LoopOp* const loop = LoopOp::of(op);
      return loop && loop->has_check();
    }
  }
}

bool worth_keeping(const Node& node) {
  if (!node.results().empty()) return false;
  const Role role = node.op().role();
  return role == Role::Library || role == Role::Kernel || role == Role::Part || role == Role::Reduce;
}

/// The nodes that gradients go through: not those that a checkpoint or a custom function computes inside.
std::unordered_set<const Node*> differentiated(std::span<const Ref<Node>> results) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack;
  for (const auto& result : results) stack.push_back(result.get());
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second || node->cuts()) continue;
    for (const auto& input : node->inputs().subspan(inside_inputs(*node))) stack.push_back(input.get());
  }
  return seen;
}

/// The nodes below some results, with a note of which depend on the stand-ins.
class Walk {
 public:
  Walk(std::span<const Tensor> results, std::span<const Region::StandIn> stand_ins) {
    const std::scoped_lock lock(graph_mutex());
    for (const auto& one : stand_ins) {
      within_.emplace(one.inside.get(), true);
      oldest_ = std::min(oldest_, one.inside->sequence());
    }
    std::vector<Ref<Node>> stack;
    for (const Tensor& result : results) stack.push_back(result.node());
    std::unordered_set<const Node*> seen;
    while (!stack.empty()) {
      const Ref<Node> node = stack.back();
      stack.pop_back();
      if (within_.contains(node.get()) || node->sequence() < oldest_ || !seen.insert(node.get()).second) continue;
      order_.push_back(node);
      for (const auto& input : node->inputs()) stack.push_back(input);
    }
    std::ranges::sort(order_, {}, [](const auto& node) { return node->sequence(); });
    for (const auto& node : order_) {
      const auto inputs = node->inputs();
      within_[node.get()] = std::ranges::any_of(inputs, [&](const auto& input) { return depends(*input); });
    }
  }

  bool depends(const Node& node) const {
    const auto found = within_.find(&node);
    return found != within_.end() && found->second;
  }
  /// Does not depend on a stand-in, and costs nothing inside.
  bool is_free(const Node& node) const {
    const Role role = node.op().role();
    return node.sequence() >= oldest_ && !depends(node) && !node.has_value() && (role == Role::Index || role == Role::View);
  }
  const std::vector<Ref<Node>>& order() const { return order_; }

 private:
  std::unordered_map<const Node*, bool> within_;
  std::vector<Ref<Node>> order_;
  std::uint64_t oldest_ = ~std::uint64_t{0};
};

}  // namespace

Tensor copy_exactly(const Node& node, std::span<const Tensor> inputs) {
  const PrecisionScope precision(node.precision());
  std::vector<Ref<Node>> refs;
  for (const Tensor& input : inputs) refs.push_back(input.node());
  if (!node.results().empty()) return Tensor(make<Node>(node.op_ref(), refs, node.results(), node.origin()));
  Tensor copy(make<Node>(node.op_ref(), refs, node.shape(), node.dtype(), node.origin()));
  if (node.is_part()) copy.node()->become_part(static_cast<const PartOp&>(node.op()).index());
  return copy;
}

Region::Closed Region::close(std::span<const Tensor> results, std::span<const StandIn> stand_ins, std::size_t kept, bool open) {
  const Walk walk(results, stand_ins);
  std::unordered_map<const Node*, std::size_t> index;  // index of each stand-in
  for (std::size_t i = 0; i < stand_ins.size(); ++i) index.emplace(stand_ins[i].inside.get(), i);
  Closed out;
  auto region = make<Region>();
  Copies copies;
  const auto add_parameter = [&](const StandIn& one) {
    region->parameters_.push_back(parameter_like(*one.inside));
    out.parameters.push_back(one);
    copies[one.inside.get()] = Tensor(region->parameters_.back());
  };
  for (std::size_t i = 0; i < kept; ++i) add_parameter(stand_ins[i]);
  const auto value_of = [&](const Ref<Node>& node) -> const Tensor& {
    if (!copies.contains(node.get())) {
      const auto found = index.find(node.get());
      add_parameter(found == index.end() ? StandIn{node, node} : stand_ins[found->second]);
    }
    return copies.at(node.get());
  };
  // Only the nodes that the results need: free nodes may be below others that are computed outside.
  std::unordered_set<const Node*> needed;
  for (const Tensor& result : results) needed.insert(result.node().get());
  const auto is_inside = [&](const Node& node) { return !index.contains(&node) && (walk.depends(node) || walk.is_free(node)); };
  for (auto node = walk.order().rbegin(); node != walk.order().rend(); ++node) {
    if (!needed.contains(node->get()) || !is_inside(**node)) continue;
    for (const auto& input : (*node)->inputs()) needed.insert(input.get());
  }
  for (const auto& node : walk.order()) {
    if (!needed.contains(node.get()) || !is_inside(*node)) continue;
    std::vector<Tensor> inputs;
    for (const auto& input : node->inputs()) inputs.push_back(value_of(input));
    region->nodes_.push_back((copies[node.get()] = copy_exactly(*node, inputs)).node());
  }
  for (const Tensor& result : results) region->results_.push_back(value_of(result.node()).node());
  if (open) {
    for (std::size_t i = 0; i < kept; ++i) region->results_.push_back(region->parameters_[i]);
    const auto through = differentiated(region->results_);
    for (const auto& node : region->nodes_)
      if (worth_keeping(*node) && through.contains(node.get())) region->results_.push_back(node);
  }
  region->describe();
  out.region = region;
  return out;
}

Ref<const Region> Region::of(std::vector<Ref<Node>> parameters, std::vector<Ref<Node>> nodes, std::vector<Ref<Node>> results) {
  const auto region = make<Region>();
  region->parameters_ = std::move(parameters);
  region->nodes_ = std::move(nodes);
  region->results_ = std::move(results);
  region->describe();
  return region;
}

void Region::describe() {
  std::unordered_map<const Node*, std::uint64_t> number;
  const auto kind = [&](const Result& result) {
    key_.push_back(static_cast<std::uint64_t>(result.dtype));
    append(key_, result.shape);
  };
  key_.push_back(parameters_.size());
  for (const auto& parameter : parameters_) {
    number.emplace(parameter.get(), number.size());
    kind({parameter->shape(), parameter->dtype()});
  }
  for (const auto& node : nodes_) {
    number.emplace(node.get(), number.size());
    append(key_, node->op());
    key_.push_back(node->inputs().size());
    for (const auto& input : node->inputs()) key_.push_back(number.at(input.get()));
    key_.push_back(static_cast<std::uint64_t>(node->precision()) << 32 | node->results().size());
    kind({node->shape(), node->dtype()});
    for (const Result& result : node->results()) kind(result);
    has_check_ |= may_fail(node->op());
    if (!may_fail(node->op()) && effect_of(node->op()) == Effect::None) continue;
    // The error names a line, so two loops with checks are the same at one line only.
    key_.push_back(reinterpret_cast<std::uint64_t>(node->origin().where.file_name()));
    key_.push_back(std::uint64_t{node->origin().where.line()} << 32 | node->origin().where.column());
  }
  for (const auto& result : results_) key_.push_back(number.at(result.get()));
}

Region::Copies Region::copy(std::span<const Tensor> parameters, const Instead& instead) const {
  Copies copies;
  std::unordered_map<const Node*, std::vector<Tensor>> replaced;
  for (std::size_t i = 0; i < parameters_.size(); ++i) copies[parameters_[i].get()] = parameters[i];
  for (const auto& node : nodes_) {
    if (const auto found = node->is_part() ? replaced.find(node->inputs()[0].get()) : replaced.end(); found != replaced.end()) {
      copies[node.get()] = found->second[static_cast<std::size_t>(static_cast<const PartOp&>(node->op()).index())];
      continue;
    }
    std::vector<Tensor> inputs;
    for (const auto& input : node->inputs()) inputs.push_back(copies.at(input.get()));
    if (instead && !node->results().empty()) {
      if (auto results = instead(*node, inputs); !results.empty()) {
        replaced.emplace(node.get(), std::move(results));
        continue;
      }
    }
    copies[node.get()] = copy_exactly(*node, inputs);
  }
  return copies;
}

}  // namespace tegula
