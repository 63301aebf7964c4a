// Functions with gradients of their own: custom_function and checkpoint.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/vjp_parts.h"

namespace tegula {
namespace {

std::vector<Tensor> tensors(std::span<const Ref<Node>> nodes) {
  std::vector<Tensor> out;
  for (const auto& node : nodes) out.emplace_back(node);
  return out;
}

/// Input 0, unchanged; the others stand for what it was computed from.
class FunctionOp : public ViewOp {
 public:
  std::optional<Layout> apply(const Layout& input) const override { return input; }
};

class CustomOp final : public FunctionOp {
 public:
  CustomOp(std::string name, Vjp vjp) : name_(std::move(name)), vjp_(std::move(vjp)) {}
  std::string_view name() const override { return name_; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    const auto inputs = tensors(y.inputs().subspan(1));
    auto parts = vjp_(inputs, Tensor(Ref<Node>(const_cast<Node*>(&y))), dy);
    if (parts.size() != inputs.size()) {
      throw Error({.op = name_,
                   .got = std::to_string(parts.size()) + " gradients from its vjp",
                   .expected = std::to_string(inputs.size()) + ", one for each input",
                   .advice = "an empty Tensor means none flows",
                   .where = y.origin().where});
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (wanted[i + 1] && parts[i].defined() && parts[i].shape() != inputs[i].shape()) {
        throw Error({.op = name_,
                     .got = "a gradient of shape " + to_string(parts[i].shape()) + " for input " + std::to_string(i),
                     .expected = "the input's shape " + to_string(inputs[i].shape()),
                     .where = y.origin().where});
      }
    }
    parts.insert(parts.begin(), Tensor());
    return parts;
  }

 private:
  std::string name_;
  Vjp vjp_;
};

/// Input 0, available only once input 1 is: keeps what is computed again in the backward pass from being computed early.
class BarrierOp final : public FunctionOp {
 public:
  std::string_view name() const override { return "barrier"; }
  bool waits() const override { return true; }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>&) const override { return {dy, Tensor()}; }
};

class CheckpointOp final : public FunctionOp {
 public:
  std::string_view name() const override { return "checkpoint"; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;
};

// What `result` was computed from, down to the nodes for which `outside` holds, in program order; those are collected.
std::vector<Ref<Node>> inside(const Ref<Node>& result, const std::function<bool(const Node&)>& outside, std::vector<Ref<Node>>& met) {
  std::vector<Ref<Node>> body, stack{result};
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    Ref<Node> node = stack.back();
    stack.pop_back();
    if (!seen.insert(node.get()).second) continue;
    const bool stop = outside(*node);
    (stop ? met : body).push_back(node);
    if (stop) continue;
    for (const auto& input : node->inputs()) stack.push_back(input);
  }
  const auto by_order = [](const Ref<Node>& a, const Ref<Node>& b) { return a->sequence() < b->sequence(); };
  std::sort(body.begin(), body.end(), by_order);
  std::sort(met.begin(), met.end(), by_order);
  return body;
}

// A leaf, or a value that is one by now.
bool is_given(const Node& node) { return node.inputs().empty() && (node.op().role() == Role::Leaf || node.has_value()); }

std::vector<Tensor> CheckpointOp::gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const {
  static const Ref<const Op> barrier(new BarrierOp);
  // Everything from outside passes a barrier that waits for dy, then the function is built a second time on top.
  std::unordered_map<const Node*, Tensor> copy;
  std::vector<Wrt> targets;
  std::vector<std::size_t> target_of;
  for (std::size_t i = 1; i < y.inputs().size(); ++i) {
    const Tensor source(y.inputs()[i]);
    Tensor late = make_node(barrier, {source, dy}, source.shape(), source.dtype(), y.origin().where);
    copy[source.node().get()] = late;
    if (wanted[i]) {
      targets.emplace_back(late);
      target_of.push_back(i);
    }
  }
  // The inputs are all that lies between the function and what came before, in copies of this node, too (a checkpoint within another).
  std::vector<Ref<Node>> given;
  const auto body = inside(y.inputs()[0], [&](const Node& node) { return copy.contains(&node) || is_given(node); }, given);
  for (const auto& node : given) copy.try_emplace(node.get(), node);
  for (const auto& node : body) {
    const PrecisionScope precision(node->precision());
    std::vector<Tensor> inputs;
    for (const auto& input : node->inputs()) inputs.push_back(copy.at(input.get()));
    copy[node.get()] = copy_node(*node, inputs);
  }
  std::vector<Tensor> out(y.inputs().size());
  if (targets.empty()) return out;
  const auto parts = vjp_parts({copy.at(y.inputs()[0].get())}, {dy}, targets, y.origin().where);
  for (std::size_t i = 0; i < parts.size(); ++i) out[target_of[i]] = parts[i];
  return out;
}

}  // namespace

Tensor custom_function(std::string name, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs, std::source_location where) {
  std::vector<Tensor> hidden;
  for (const auto& input : inputs) hidden.push_back(graph::stop_gradient(input, where));
  std::vector<Tensor> all{f(hidden)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  return make_node(Ref<const Op>(new CustomOp(std::move(name), vjp)), all, all[0].shape(where), all[0].dtype(), where);
}

Tensor checkpoint(const Function& f, const std::vector<Tensor>& inputs, std::source_location where) {
  // A node made here marks the place in program order; what came before it is outside.
  const std::uint64_t begin = graph::scalar(0, DType::f32, where).node()->sequence();
  const Tensor y = f(inputs);
  std::vector<Ref<Node>> outside;
  inside(y.node(), [&](const Node& node) { return node.sequence() < begin || is_given(node); }, outside);
  std::vector<Tensor> all{y};
  for (const auto& node : outside) all.emplace_back(node);
  return make_node(Ref<const Op>(new CheckpointOp), all, y.shape(where), y.dtype(), where);
}

}  // namespace tegula
