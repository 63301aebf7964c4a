#include "tegula/ops/branch.h"

#include <string>

#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/nonfinite.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/loop_builder.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;

std::string kind_of(const Tensor& x) { return std::string(name(x.dtype())) + " " + to_string(x.shape()); }

void require_truth(std::string_view op, const Tensor& x, const Line& where) {
  if (x.dtype() == boolean && x.rank() == 0) return;
  ops::refuse(op, kind_of(x) + " to decide", "one boolean, ()", where, "all(…) or any(…) of several, x != 0 of a number");
}

void require_alike(std::string_view op, const Tensors& a, const Tensors& b, std::string_view what, const Line& where) {
  if (a.size() != b.size())
    ops::refuse(op, std::to_string(b.size()) + " values", std::to_string(a.size()) + ", as " + std::string(what), where);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape(where) != b[i].shape(where) || a[i].dtype() != b[i].dtype())
      ops::refuse(op, "value " + std::to_string(i) + " as " + kind_of(b[i]), kind_of(a[i]) + ", as " + std::string(what), where,
                  "cast() or reshape() it");
  }
}

void require_no_assignment(std::string_view op, const ops::LoopBuilder& loop, const Line& where) {
  if (loop.assigns())
    ops::refuse(op, "a Variable that is assigned in a body", "bodies that give their results back", where,
                "return the value, and assign it behind");
}

/// Values are looked at as they are made.
bool by_values() { return (eager() && !Trace::current()) || checks_nonfinite(); }

/// The results of a body where `holds`, else zeros. A loop of at most one turn: where the turn changes nothing it is left out.
Tensors guarded(const Tensor& holds, const BranchBody& body, const Tensors& operands, const Line& where) {
  ops::LoopBuilder loop(1, false, where);
  const Tensor runs = loop.carry(holds);
  Tensors next{runs}, inside;
  for (const Tensor& operand : operands) inside.push_back(loop.same(operand));
  for (const Tensor& made : body(inside)) {
    const Tensor nothing = loop.carry(graph::full(made.shape(where), 0, made.dtype(), where));
    next.push_back(tegula::where(runs, made, nothing));
  }
  require_no_assignment("cond", loop, where);
  if (next.size() == 1) return {};
  Tensors last = loop.finish(std::move(next), {}).last;
  last.erase(last.begin());
  return last;
}

}  // namespace

std::vector<Tensor> cond(Arg predicate, const BranchBody& then_body, const BranchBody& else_body, const std::vector<Tensor>& operands) {
  const Line& where = predicate.loc;
  const Tensor holds = predicate.tensor("cond");
  require_truth("cond", holds, where);
  if (by_values()) return holds.item<bool>() ? then_body(operands) : else_body(operands);
  const In frame("cond", where);
  const Tensors yes = guarded(holds, then_body, operands, where), no = guarded(!holds, else_body, operands, where);
  require_alike("cond", yes, no, "the first body gives", where);
  Tensors out;
  for (std::size_t i = 0; i < yes.size(); ++i) out.push_back(tegula::where(holds, yes[i], no[i]));
  return out;
}

Repeated while_loop(const LoopCondition& condition, const BranchBody& body, const std::vector<Tensor>& start, std::int64_t most,
                    Line where) {
  if (most < 0) ops::refuse("while_loop", "at most " + std::to_string(most) + " steps", "at least 0", where);
  for (const Tensor& value : start) value.shape(where);  // there is one
  const Tensor first = condition(start);
  require_truth("while_loop", first, where);
  if (by_values()) {
    Tensors carry = start;
    std::int64_t steps = 0;
    for (Tensor goes_on = first; steps < most && goes_on.item<bool>(); ++steps, goes_on = condition(carry)) {
      Tensors next = body(carry);
      require_alike("while_loop", carry, next, "before the step", where);
      carry = std::move(next);
    }
    return {std::move(carry), Tensor(steps)};
  }
  if (most == 0) return {start, zeros({}, i64)};
  ops::LoopBuilder loop(most, false, where);
  const Tensor runs = loop.carry(first), steps = loop.carry(zeros({}, i64));
  Tensors carry;
  for (const Tensor& value : start) carry.push_back(loop.carry(value));
  const Tensors made = body(carry);
  require_alike("while_loop", carry, made, "before the step", where);
  const Tensor goes_on = condition(made);
  require_truth("while_loop", goes_on, where);
  const In frame("while_loop", where);
  Tensors next{runs && goes_on, tegula::where(runs, steps + 1, steps)};
  for (std::size_t i = 0; i < made.size(); ++i) next.push_back(tegula::where(runs, made[i], carry[i]));
  require_no_assignment("while_loop", loop, where);
  Tensors last = loop.finish(std::move(next), {}).last;
  return {{last.begin() + 2, last.end()}, last[1]};
}

}  // namespace tegula
