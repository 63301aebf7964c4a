#include "tegula/graph/grad.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

// Nodes from which one of the targets is reached, with the targets, in program order. Iterative: graphs may be deep.
std::vector<const Node*> path_nodes(const std::vector<Tensor>& ys, const std::unordered_set<const Node*>& targets) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> all, stack;
  for (const auto& y : ys) stack.push_back(y.node().get());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    all.push_back(node);
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  std::unordered_set<const Node*> reaching;
  std::vector<const Node*> out;
  for (const Node* node : all) {
    bool reaches = targets.contains(node);
    for (const auto& input : node->inputs()) reaches = reaches || reaching.contains(input.get());
    if (!reaches || !is_float(node->dtype())) continue;
    reaching.insert(node);
    out.push_back(node);
  }
  return out;
}

// The contributions to a node's gradient. An entry without any: the node was reached, by zeros only.
using Gradients = std::unordered_map<const Node*, std::vector<Tensor>>;

// The total gradient of a node; sums the contributions once.
Tensor total(Gradients& gradients, const Node* node) {
  auto& terms = gradients[node];
  if (terms.size() > 1) terms = {graph::add_n(terms, node->origin().where)};
  return terms[0];
}

// Reverse accumulation from seeds. Targets reached are in the result.
Gradients accumulate(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::unordered_set<const Node*>& targets) {
  const auto order = path_nodes(ys, targets);
  const std::unordered_set<const Node*> on_path(order.begin(), order.end());
  Gradients gradients;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (on_path.contains(ys[i].node().get())) gradients[ys[i].node().get()].push_back(dys[i]);
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node* node = *it;
    if (!gradients.contains(node) || node->inputs().empty()) continue;
    std::vector<bool> wanted;
    bool any = false;
    for (const auto& input : node->inputs()) {
      wanted.push_back(on_path.contains(input.get()));
      any = any || wanted.back();
    }
    if (!any || node->op().name() == "stop_gradient") continue;
    const PrecisionScope precision(node->precision());  // backward as forward
    const In frame("grad", node->origin().where);  // gradient nodes carry the line of the op they come from
    std::vector<Tensor> parts(wanted.size());
    if (!gradients[node].empty()) parts = node->op().gradient(*node, total(gradients, node), wanted);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!wanted[i]) continue;
      auto& terms = gradients[node->inputs()[i].get()];
      if (parts[i].defined()) terms.push_back(parts[i]);
    }
  }
  return gradients;
}

std::string describe(const Wrt& x, std::size_t index) { return x.name().empty() ? "#" + std::to_string(index) : "'" + x.name() + "'"; }

bool any_forgotten(const Tensor& y) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack{y.node().get()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->forgotten()) return true;
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  return false;
}

void refuse_assigned(const std::vector<Wrt>& xs, const std::source_location& where) {
  const Trace* trace = Trace::current();
  if (!trace) return;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto* use = xs[i].cell() ? trace->find(xs[i].cell()) : nullptr;
    if (use && use->written) {
      throw Error({.op = "grad",
                   .got = "Variable " + describe(xs[i], i) + ", which was already assigned in this jit-ed function",
                   .expected = "one that still has the value it came with",
                   .advice = "take the gradient before the assignment",
                   .where = origin_at(where).where});
    }
  }
}

}  // namespace

Wrt::Wrt(const Variable& variable, Location where) : tensor_(variable.read(where)), cell_(variable.cell(where)) {}
Wrt::Wrt(const Parameter& parameter, Location where) : tensor_(parameter.read(where)), cell_(parameter.cell), name_(parameter.name) {}

std::vector<Tensor> vjp(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Wrt>& xs,
                        std::source_location where) {
  refuse_assigned(xs, where);
  if (ys.size() != dys.size()) {
    throw Error({.op = "vjp",
                 .got = std::to_string(ys.size()) + " outputs and " + std::to_string(dys.size()) + " vectors",
                 .expected = "one vector for each output",
                 .where = origin_at(where).where});
  }
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (ys[i].shape(where) != dys[i].shape(where)) {
      throw Error({.op = "vjp",
                   .got = "a vector of shape " + to_string(dys[i].shape()),
                   .expected = "the output's shape " + to_string(ys[i].shape()),
                   .where = origin_at(where).where});
    }
  }
  std::unordered_set<const Node*> targets;
  for (const auto& x : xs) {
    if (!is_float(x.tensor().dtype(where))) {
      throw Error({.op = "grad",
                   .got = "a tensor of dtype " + std::string(name(x.tensor().dtype())) + " to differentiate with respect to",
                   .expected = "a float dtype",
                   .where = origin_at(where).where});
    }
    targets.insert(x.tensor().node().get());
  }
  Gradients gradients = accumulate(ys, dys, targets);

  std::vector<Tensor> out;
  std::string missing;
  bool reached = xs.empty();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Node* node = xs[i].tensor().node().get();
    const auto found = gradients.find(node);
    if (found == gradients.end()) missing += (missing.empty() ? "" : ", ") + describe(xs[i], i);
    else reached = true;
    if (found == gradients.end() || found->second.empty()) out.push_back(graph::full(node->shape(), 0.0, node->dtype(), where));
    else out.push_back(graph::cast(total(gradients, node), node->dtype(), where));
  }
  if (!reached) {
    bool lost = false;
    for (const auto& y : ys) lost = lost || any_forgotten(y);
    throw Error(
        {.op = "grad",
         .got = "an output that depends on none of " + missing,
         .expected = "at least one of them to be reached",
         .advice = lost ? "the output was evaluated a while ago and its history is gone: call grad before reading values, or use jit"
                        : "a module passed by value is a copy with Variables of its own; stop_gradient and integer ops also end the path",
         .where = origin_at(where).where});
  }
  return out;
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Wrt>& xs, std::source_location where) {
  if (y.shape(where).rank() != 0 && y.numel() != 1) {
    throw Error({.op = "grad",
                 .got = "an output of shape " + to_string(y.shape()),
                 .expected = "a scalar",
                 .advice = "reduce it with sum or mean, or use vjp",
                 .where = origin_at(where).where});
  }
  if (!is_float(y.dtype())) {
    throw Error({.op = "grad",
                 .got = "an output of dtype " + std::string(name(y.dtype())),
                 .expected = "a float dtype",
                 .where = origin_at(where).where});
  }
  return vjp({y}, {graph::full(y.shape(), 1.0, y.dtype(), where)}, xs, where);
}

std::vector<Tensor> grad(const Tensor& y, const Parameters& xs, std::source_location where) {
  std::vector<Wrt> wrt;
  for (const auto& x : xs) wrt.emplace_back(x, where);
  return grad(y, wrt, where);
}

Tensor stop_gradient(Arg x) { return graph::stop_gradient(x.tensor("stop_gradient"), x.loc); }

}  // namespace tegula
