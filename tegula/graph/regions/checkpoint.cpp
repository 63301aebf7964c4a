// Functions whose values are computed again in the backward pass.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/autodiff/vjp_parts.h"
#include "tegula/graph/graph_ops.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/new_nodes.h"
#include "tegula/graph/regions/region.h"
#include "tegula/graph/regions/same_op.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

std::vector<Tensor> gradients_again(const Node& y, std::span<const Tensor> results, std::span<const Tensor> dys,
                                    const std::vector<bool>& wanted);

/// Results of the function, then the tensors they were computed from; for functions with one result.
class CheckpointOp final : public SameOp {
 public:
  std::string_view name() const override { return "checkpoint"; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    const Tensor result(Ref<Node>(const_cast<Node*>(&y)));
    return gradients_again(y, std::span(&result, 1), std::span(&dy, 1), wanted);
  }
};

class CheckpointsOp final : public SameOp {
 public:
  std::string_view name() const override { return "checkpoints"; }
  void attributes(Attributes& a) override {
    if (const Signature* const node = a.made_for()) a.require(node->results.size() > 1, "results");
  }
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> results;
    for (std::size_t k = 0; k < dys.size(); ++k) results.push_back(graph::part(y, static_cast<int>(k)));
    return gradients_again(y, results, dys, wanted);
  }
};

// The nodes that the results were computed from, in program order, down to those for which `outside` holds; these are collected in `met`.
template <class Outside>
std::vector<Ref<Node>> inside(std::span<const Ref<Node>> results, Outside outside, std::vector<Ref<Node>>& met) {
  std::vector<Ref<Node>> body, stack(results.begin(), results.end());
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

// The booleans and integers that are made of `again`, from which tensors are made.
std::vector<Ref<Node>> choices_of(const std::vector<Region::StandIn>& again, const std::vector<Tensor>& from) {
  std::unordered_set<const Node*> depending, seen;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (const auto& one : again) {
    depending.insert(one.inside.get());
    oldest = std::min(oldest, one.inside->sequence());
  }
  std::vector<Ref<Node>> stack, order, out;
  for (const Tensor& one : from) stack.push_back(one.node());
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    stack.pop_back();
    if (node->sequence() <= oldest || !seen.insert(node.get()).second) continue;  // a node that depends on one of them is younger
    order.push_back(node);
    stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
  }
  std::ranges::sort(order, {}, [](const Ref<Node>& node) { return node->sequence(); });
  for (const Ref<Node>& node : order) {
    if (std::ranges::none_of(node->inputs(), [&](const Ref<Node>& input) { return depending.contains(input.get()); })) continue;
    if (node->results().empty() && !is_float(node->dtype())) out.push_back(node);
    else depending.insert(node.get());
  }
  return out;
}

// Lets the gradients read results that are computed again. These are there: with them second derivatives by a result are what they are without a
// checkpoint, and what made them is not computed again. Choices stay as they are: no gradient flows through them, and an extreme is equal to an element only
// where both are computed by the same kernels.
std::vector<Tensor> with_results(const std::vector<Tensor>& gradients, const std::vector<Region::StandIn>& again) {
  std::vector<Tensor> defined;
  for (const Tensor& one : gradients)
    if (one.defined()) defined.push_back(one);
  std::vector<Region::StandIn> stand_ins = again;
  for (const Ref<Node>& choice : choices_of(again, defined)) stand_ins.push_back({choice, choice});
  const Region::Closed closed = Region::close(defined, stand_ins, 0, false);
  const auto is_again = [&](const Region::StandIn& one) { return one.inside != one.outside; };
  if (std::ranges::none_of(closed.parameters, is_again)) return gradients;
  std::vector<Tensor> parameters;
  for (const auto& one : closed.parameters) parameters.emplace_back(one.outside);
  const Region::Copies copies = closed.region->copy(parameters);
  std::vector<Tensor> out;
  std::size_t next = 0;
  for (const Tensor& one : gradients) out.push_back(one.defined() ? copies.at(closed.region->results()[next++].get()) : Tensor());
  return out;
}

std::vector<Tensor> gradients_again(const Node& y, std::span<const Tensor> results, std::span<const Tensor> dys,
                                    const std::vector<bool>& wanted) {
  const auto& where = y.origin().where;
  const auto firsts = y.inputs().first(results.size());
  std::vector<Tensor> seeds;
  std::vector<std::size_t> seeded;  // indices of results
  for (std::size_t k = 0; k < dys.size(); ++k)
    if (dys[k].defined()) seeds.push_back(dys[k]), seeded.push_back(k);
  // Everything from outside passes a barrier that waits for the gradients, then the function is built a second time on top.
  std::unordered_map<const Node*, Tensor> copy;
  std::vector<Wrt> targets;
  std::vector<std::size_t> target_of;
  for (std::size_t i = results.size(); i < y.inputs().size(); ++i) {
    const Tensor source(y.inputs()[i]);
    std::vector<Tensor> awaited{source};
    awaited.insert(awaited.end(), seeds.begin(), seeds.end());
    Tensor late = make_node(barrier_op(), awaited, source.shape(), source.dtype(), where);
    copy[source.node().get()] = late;
    if (wanted[i]) {
      targets.emplace_back(late);
      target_of.push_back(i);
    }
  }
  std::vector<Tensor> out(y.inputs().size());
  if (targets.empty() || seeds.empty()) return out;
  // The inputs are all nodes between the function and its own inputs, in copies of this node, too (a checkpoint within another).
  std::vector<Ref<Node>> given;
  const auto body = inside(firsts, [&](const Node& node) { return copy.contains(&node) || is_given(node); }, given);
  for (const auto& node : given) copy.try_emplace(node.get(), node);
  for (const auto& node : body) {
    const PrecisionScope precision(node->precision());
    std::vector<Tensor> inputs;
    for (const auto& input : node->inputs()) inputs.push_back(copy.at(input.get()));
    copy[node.get()] = copy_node(*node, inputs);
  }
  std::vector<Tensor> ys;
  for (const std::size_t k : seeded) ys.push_back(copy.at(firsts[k].get()));
  std::vector<Region::StandIn> again;
  for (std::size_t k = 0; k < results.size(); ++k)
    if (!is_given(*firsts[k])) again.push_back({copy.at(firsts[k].get()).node(), results[k].node()});
  const auto parts = with_results(vjp_parts(ys, seeds, targets, where), again);
  for (std::size_t i = 0; i < parts.size(); ++i) out[target_of[i]] = parts[i];
  return out;
}

}  // namespace

void add_region_ops(OpTable& table) {
  table.add_class<CheckpointOp>("checkpoint", OpTable::kAnyInputs);
  table.add_several<CheckpointsOp>("checkpoints", OpTable::kAnyInputs);
}

std::vector<Tensor> checkpoints(const Functions& f, const std::vector<Tensor>& inputs, Line where) {
  const NewNodes made;
  std::vector<Tensor> ys = f(inputs);
  std::vector<Tensor> all;
  std::vector<Ref<Node>> results;
  std::vector<Result> kinds;
  std::unordered_map<const Node*, std::size_t> place;
  for (const Tensor& y : ys) {
    y.shape(where);  // there is one
    if (!made.contains(*y.node()) || !place.emplace(y.node().get(), results.size()).second) continue;
    results.push_back(y.node());
    kinds.push_back({y.shape(), y.dtype()});
  }
  if (results.empty()) return ys;
  std::vector<Ref<Node>> outside;
  inside(results, [&](const Node& node) { return !made.contains(node) || is_given(node); }, outside);
  for (const auto* list : {&results, &outside})
    for (const auto& node : *list) all.emplace_back(node);
  const std::vector<Tensor> parts =
      results.size() > 1 ? make_nodes(Ref<const Op>(new CheckpointsOp), all, kinds, where)
                         : std::vector{make_node(Ref<const Op>(new CheckpointOp), all, kinds[0].shape, kinds[0].dtype, where)};
  for (Tensor& y : ys)
    if (const auto found = place.find(y.node().get()); found != place.end()) y = parts[found->second];
  return ys;
}

Tensor checkpoint(const Function& f, const std::vector<Tensor>& inputs, Line where) {
  return checkpoints([&](const std::vector<Tensor>& x) { return std::vector{f(x)}; }, inputs, where)[0];
}

}  // namespace tegula
