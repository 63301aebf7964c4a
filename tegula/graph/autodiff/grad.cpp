#include "tegula/graph/autodiff/grad.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/autodiff/absorb.h"
#include "tegula/graph/autodiff/gradient_owners.h"
#include "tegula/graph/autodiff/vjp_parts.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/history.h"
#include "tegula/graph/nonfinite.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

std::string describe(const Wrt& x, std::size_t index) {
  if (!x.name().empty()) return "'" + x.name() + "'";
  const Node& node = *x.tensor().node();
  const std::string place = to_string(node.origin().where);
  return "#" + std::to_string(index) + " (" + (x.cell() ? "the Variable" : "the tensor") + " " + std::string(name(node.dtype())) +
         to_string(node.shape()) +
         (place.empty() ? ""
          : x.cell()    ? " set at " + place
                        : " made at " + place) +
         ")";
}

[[noreturn]] void throw_given_up(const Node& node, const Line& where) {
  const HistoryBudget budget = history_budget();
  throw Error(
      {.op = "grad",
       .got = "an output computed from " + std::string(node.op().name()) + " at " + to_string(node.origin().where) +
              ", whose own history was given up",
       .expected = "all that lies between the output and what it is differentiated with respect to",
       .advice = "evaluated tensors keep " + std::to_string(budget.nodes) + " nodes and " + std::to_string(budget.bytes >> 20) +
                 " MiB a thread (set_history_budget): take the gradient earlier, end it with stop_gradient or a Variable, or use jit",
       .where = origin_at(where).where});
}

[[noreturn]] void throw_assigned(const std::string& variable, const Node& now, const Node& before, const Line& where) {
  const std::string used = to_string(before.origin().where), place = to_string(now.origin().where);
  throw Error({.op = "grad",
               .got = "Variable " + variable + ", which was assigned" + (place.empty() ? "" : " at " + place) +
                      " after the output was computed from the value it had before" + (used.empty() ? "" : " (of " + used + ")"),
               .expected = "one that still has the value it was read with",
               .advice = "take the gradient before the assignment, or with respect to a tensor read before it",
               .where = origin_at(where).where});
}

// Warns that a gradient ends at a Variable although a target lies below the tensor assigned to it.
void warn_of_assignment(const Node& value, const Line& where) {
  warn("grad.assigned",
       "grad at " + to_string(origin_at(where).where) + " ends at the value that was assigned to a Variable at " +
           to_string(value.origin().where) +
           ": what is read from a Variable is a leaf. To differentiate through the value, use the tensor that was assigned; to say that "
           "the gradient is to end there, assign stop_gradient(…)");
}

/// The targets of grad, in the form that the walk over the graph uses.
struct Targets {
  std::unordered_set<const Node*> nodes;
  std::unordered_map<std::uint32_t, std::size_t> by_cell;  // number of a Variable's cell -> its index in xs
  std::uint64_t oldest = ~std::uint64_t{0};  // sequence number; inputs are older than nodes computed from them
  std::uint64_t earliest_value = ~std::uint64_t{0};  // the same, earlier values of the Variables included
};

Targets targets_of(const std::vector<Wrt>& xs) {
  Targets out;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Node* node = xs[i].tensor().node().get();
    out.nodes.insert(node);
    out.oldest = std::min(out.oldest, node->sequence());
    out.earliest_value = std::min(out.earliest_value, node->sequence());
    if (!xs[i].cell()) continue;
    out.by_cell.emplace(xs[i].cell()->number(), i);
    out.earliest_value = std::min(out.earliest_value, xs[i].cell()->born());
  }
  return out;
}

// True if a gradient may pass the node; for an op with several results: if it may pass through one of them.
bool passes_gradient(const Node& node) {
  const auto results = node.results();
  return results.empty() ? is_float(node.dtype())
                         : std::any_of(results.begin(), results.end(), [](const Result& r) { return is_float(r.dtype); });
}

// True if a target lies below the node.
bool target_below(const Node& from, const Targets& targets) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack{&from};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->sequence() < targets.oldest || !passes_gradient(*node) || !seen.insert(node).second) continue;
    if (node != &from && targets.nodes.contains(node)) return true;
    if (node != &from && node->cuts()) continue;
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  return false;
}

// Nodes from which one of the targets is reached, with the targets, in program order. Iterative: graphs may be deep.
// Throws where the answer would not be the whole gradient.
std::vector<Ref<Node>> path_nodes(const std::vector<Tensor>& ys, const std::vector<Wrt>& xs, const Line& where) {
  const std::scoped_lock lock(graph_mutex());
  const Targets targets = targets_of(xs);
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> all, stack;
  for (const auto& y : ys) stack.push_back(y.node().get());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!passes_gradient(*node) || node->sequence() < targets.earliest_value || !seen.insert(node).second) continue;
    if (const auto found = node->cell_number() ? targets.by_cell.find(node->cell_number()) : targets.by_cell.end();
        found != targets.by_cell.end() && !targets.nodes.contains(node)) {
      const Wrt& x = xs[found->second];
      throw_assigned(x.name().empty() ? "#" + std::to_string(found->second) : "'" + x.name() + "'", *x.tensor().node(), *node, where);
    }
    if (node->forgotten() && targets.oldest < node->sequence()) throw_given_up(*node, where);
    all.push_back(node);
    if (node->cuts()) {
      // The library's own state (statistics, optimisers) is assigned within a frame, and a copy is a copy: no user means to differentiate
      // through those.
      const bool computed = node->cell_number() && !node->inputs().empty() && !node->input(0).cell_number();
      if (computed && !node->origin().path && target_below(*node, targets)) warn_of_assignment(*node, where);
      continue;
    }
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  std::unordered_set<const Node*> reaching;
  std::vector<Ref<Node>> out;
  for (const Node* node : all) {
    bool reaches = targets.nodes.contains(node);
    if (!node->cuts()) {
      for (const auto& input : node->inputs()) reaches = reaches || reaching.contains(input.get());
    }
    if (!reaches) continue;
    reaching.insert(node);
    out.emplace_back(const_cast<Node*>(node));
  }
  return out;
}

// The contributions to a node's gradient. An entry without any: the node was reached, by zeros only.
using Gradients = std::unordered_map<const Node*, std::vector<Tensor>>;

// The sum, in the widest dtype of the terms: the gradient of an 8-bit tensor has the dtype it was cast to.
Tensor sum_of(std::vector<Tensor> terms, const Line& where) {
  DType dtype = terms[0].dtype();
  for (const Tensor& term : terms) dtype = promote(dtype, term.dtype());
  for (Tensor& term : terms) term = graph::cast(term, dtype, where);
  const Tensor sum = graph::add_n(terms, where);
  Zeros zeros = Zeros::AbsorbAll;
  for (const Tensor& term : terms) zeros = std::min(zeros, term.node()->zeros());
  sum.node()->raise_zeros(zeros);
  return sum;
}

// The total gradient of a node; sums the contributions once.
Tensor total(Gradients& gradients, const Node* node) {
  auto& terms = gradients[node];
  if (terms.size() > 1) terms = {sum_of(terms, node->origin().where)};
  return terms[0];
}

// The gradients of a node's results, given those of its parts; undefined: zero.
using OfResults = std::unordered_map<const Node*, std::vector<std::vector<Tensor>>>;

std::vector<Tensor> totals(OfResults& of_results, const Node* node) {
  std::vector<Tensor> out(node->results().size());
  auto& terms = of_results[node];
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (!terms[k].empty()) out[k] = sum_of(terms[k], node->origin().where);
  }
  return out;
}

// The gradients of a node's inputs, by its op; their zeros absorb as those of dys do (absorb.h).
std::vector<Tensor> gradients_of(const Node& node, std::span<const Tensor> dys, const std::vector<bool>& wanted) {
  const Op& op = node.op();
  Zeros zeros = Zeros::Plain;
  for (const Tensor& dy : dys) {
    if (dy.defined()) zeros = std::max(zeros, dy.node()->zeros());
  }
  std::vector<Tensor> parts = op.gradients(node, dys, wanted);
  if (op.role() == Role::Library) zeros = std::min(zeros, Zeros::AbsorbPoles);
  // Elementwise formulas see to it themselves.
  if (zeros == Zeros::AbsorbAll && op.role() != Role::Elementwise) parts = with_absorbed_products(node, dys, std::move(parts));
  for (const Tensor& part : parts) {
    if (part.defined()) part.node()->raise_zeros(std::max(zeros, op.gradient_zeros()));
  }
  return parts;
}

// Reverse accumulation from seeds along `order`. Targets reached are in the result.
Gradients accumulate(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Ref<Node>>& order) {
  std::unordered_set<const Node*> on_path;
  for (const auto& node : order) on_path.insert(node.get());
  Gradients gradients;
  OfResults of_results;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (on_path.contains(ys[i].node().get())) gradients[ys[i].node().get()].push_back(dys[i]);
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node* node = it->get();
    if (!gradients.contains(node) || node->inputs().empty() || node->cuts()) continue;
    if (node->is_part()) {
      const Node* const of = node->inputs()[0].get();
      if (!on_path.contains(of)) continue;
      gradients.try_emplace(of);  // reached
      if (gradients[node].empty()) continue;
      auto& terms = of_results[of];
      terms.resize(of->results().size());
      terms[static_cast<std::size_t>(static_cast<const PartOp&>(node->op()).index())].push_back(total(gradients, node));
      continue;
    }
    std::vector<bool> wanted;
    bool any = false;
    for (const auto& input : node->inputs()) {
      wanted.push_back(on_path.contains(input.get()));
      any = any || wanted.back();
    }
    if (!any) continue;
    const PrecisionScope precision(node->precision());  // backward as forward
    const Origin& origin = node->origin();  // gradient nodes carry the line and name of the op they come from
    const In frame(kGradFrame, origin.where), of(origin.path ? std::string_view(*origin.path) : node->op().name(), origin.where);
    std::vector<Tensor> parts(wanted.size());
    std::vector<Tensor> dys;
    if (!node->results().empty()) dys = totals(of_results, node);
    else if (!gradients[node].empty()) dys = {total(gradients, node)};
    if (std::any_of(dys.begin(), dys.end(), [](const Tensor& dy) { return dy.defined(); })) parts = gradients_of(*node, dys, wanted);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!wanted[i]) continue;
      auto& terms = gradients[node->inputs()[i].get()];
      if (parts[i].defined()) terms.push_back(parts[i]);
    }
  }
  return gradients;
}

/// Parameters are: who names a Variable of its own asks for its gradient.
bool frozen(const Wrt& x) { return x.cell() && !x.name().empty() && is_frozen(*x.cell()); }

const Ref<Cell>& held_here(const Ref<Cell>& cell, const std::string& name, const Line& where) {
  if (!cell->source()) return cell;
  throw Error({.op = "grad",
               .got = (name.empty() ? "a Variable" : name) + " " + to_string(cell->shape()) + ", of which every rank keeps a part",
               .expected = "the parts: grad(loss, parallel.leaves())",
               .where = origin_at(where).where});
}

}  // namespace

Wrt::Wrt(const Variable& variable, Line where)
    : tensor_(read_cell(held_here(variable.cell(where), "", where), where)),
      cell_(variable.cell(where)) {}
Wrt::Wrt(const Parameter& parameter, Line where)
    : tensor_(read_cell(held_here(parameter.cell, parameter.name, where), where)),
      cell_(parameter.cell),
      name_(parameter.name) {}

WrtList::WrtList(const std::vector<Tensor>& xs) : xs_(xs.begin(), xs.end()) {}
WrtList::WrtList(const Parameters& xs, Line where) {
  for (const Parameter& x : xs) xs_.emplace_back(x, where);
}

std::vector<Tensor> vjp(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const WrtList& list, Line where) {
  const std::vector<Wrt>& xs = list.list();
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
  for (const auto& x : xs) {
    if (!is_float(x.tensor().dtype(where))) {
      throw Error({.op = "grad",
                   .got = "a tensor of dtype " + std::string(name(x.tensor().dtype())) + " to differentiate with respect to",
                   .expected = "a float dtype",
                   .where = origin_at(where).where});
    }
  }
  const Making making;
  std::vector<Tensor> vectors;
  for (std::size_t i = 0; i < ys.size(); ++i) vectors.push_back(graph::as_derivative(dys[i], ys[i].dtype(), where));
  const KeptHistory::Reader reader;  // nothing on the way is given up meanwhile
  std::vector<Wrt> wanted;
  for (const auto& x : xs) {
    if (!frozen(x)) wanted.push_back(x);
  }
  Gradients gradients = accumulate(ys, vectors, path_nodes(ys, wanted, where));

  std::vector<Tensor> out;
  std::string missing;
  bool reached = wanted.empty();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Node* node = xs[i].tensor().node().get();
    if (frozen(xs[i])) {
      out.push_back(graph::full(node->shape(), 0.0, node->dtype(), where));
      continue;
    }
    const auto found = gradients.find(node);
    if (found == gradients.end()) missing += (missing.empty() ? "" : ", ") + describe(xs[i], i);
    else reached = true;
    if (found == gradients.end() || found->second.empty()) out.push_back(graph::full(node->shape(), 0.0, node->dtype(), where));
    else out.push_back(graph::cast(total(gradients, node), node->dtype(), where));
  }
  if (!reached) {
    throw Error({.op = "grad",
                 .got = "an output that depends on none of " + missing,
                 .expected = "at least one of them to be reached",
                 .advice = "a module passed by value is a copy with Variables of its own; what is read from a Variable, stop_gradient and "
                           "integer ops end the path",
                 .where = origin_at(where).where});
  }
  if (!missing.empty() && checks_nonfinite())
    warn("grad.unreached", "grad at " + to_string(origin_at(where).where) + ": the output does not depend on " + missing);
  std::vector<const Cell*> cells;
  for (const auto& x : xs) cells.push_back(x.cell());
  note_gradients(out, std::move(cells));
  return out;
}

std::vector<std::string> without_gradient(const Tensor& y, const Parameters& xs, Line where) {
  const WrtList wrt(xs, where);
  if (xs.empty()) return {};
  std::unordered_set<const Node*> on_path;
  for (const auto& node : path_nodes({y}, wrt.list(), where)) on_path.insert(node.get());
  std::vector<std::string> names;
  for (const auto& x : wrt.list()) {
    if (!on_path.contains(x.tensor().node().get())) names.push_back(x.name());
  }
  return names;
}

std::vector<Tensor> vjp_parts(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Wrt>& xs,
                              const Line& where) {
  const KeptHistory::Reader reader;
  Gradients gradients = accumulate(ys, dys, path_nodes(ys, xs, where));
  std::vector<Tensor> out;
  for (const auto& x : xs) {
    const Node* node = x.tensor().node().get();
    const auto found = gradients.find(node);
    if (found == gradients.end() || found->second.empty()) {
      out.emplace_back();
      continue;
    }
    out.push_back(graph::as_derivative(total(gradients, node), node->dtype(), where));
  }
  return out;
}

std::vector<Tensor> grad(const Tensor& y, const WrtList& xs, Line where) {
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

Tensor stop_gradient(Arg arg) {
  const Tensor x = arg.tensor("stop_gradient"), y = graph::stop_gradient(x, arg.loc);
  if (!Trace::current() && x.node()->has_value()) {  // h = f(stop_gradient(h)), step after step, keeps no history
    if (!y.node()->has_value()) y.node()->set_value(x.node()->buffer(), x.node()->layout());
    y.node()->become_leaf();
  }
  return y;
}

}  // namespace tegula
