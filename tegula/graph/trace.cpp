#include "tegula/graph/trace.h"

#include <atomic>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

thread_local Trace* active = nullptr;
std::atomic<std::uint32_t> next_trace{1};

/// True if the value depends only on leaves that have one. An exchange is as unknown as the trace it is in.
bool is_known(const Node& node) {
  std::vector<const Node*> open{&node};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Node& at = *open.back();
    open.pop_back();
    if (at.has_value() || !seen.insert(&at).second) continue;
    if (at.op().role() == Role::Leaf || effect_of(at.op()) != Effect::None) return false;
    for (const Ref<Node>& input : at.inputs()) open.push_back(input.get());
  }
  return true;
}

}  // namespace

Trace::Trace(const Line& where) : id_(next_trace.fetch_add(1)), where_(where), parent_(active) { active = this; }

Trace::Trace(const Line& where, OfBody) : id_(active ? active->id() : 0), where_(where), parent_(active), of_body_(true) { active = this; }

Trace::~Trace() { active = parent_; }

Trace* Trace::current() { return active; }

std::string Trace::name() const { return (of_body_ ? "the body of the scan at " : "the jit at ") + to_string(where_); }

Tensor Trace::argument(const Shape& shape, DType dtype) {
  arguments_.push_back(make_node(leaf_op(), {}, shape, dtype, where_));
  return arguments_.back();
}

Trace::CellUse& Trace::use(const Ref<Cell>& cell) {
  if (const auto found = place_of_.find(cell.get()); found != place_of_.end()) return cells_[found->second];
  Tensor placeholder = make_node(leaf_op(), {}, cell->shape(), cell->dtype(), where_);
  place_of_.emplace(cell.get(), cells_.size());
  placeholder.node()->set_cell_number(cell->number());
  cells_.push_back({cell, placeholder, placeholder, false});
  return cells_.back();
}

const Trace::CellUse* Trace::find(const Cell* cell) const {
  const auto found = place_of_.find(cell);
  return found == place_of_.end() ? nullptr : &cells_[found->second];
}

void Trace::depend_on(const std::shared_ptr<int>& flag) {
  if (of_body_) {
    if (parent_) parent_->depend_on(flag);
    return;
  }
  for (const auto& condition : conditions_) {
    if (condition.flag == flag) return;
  }
  conditions_.push_back({flag, *flag});
}

void Trace::keep(const Ref<Node>& node) {
  if (of_body_) {
    throw Error({.op = std::string(node->op().name()),
                 .got = "a call in " + name(),
                 .expected = "one outside of loops: a body runs what its results need",
                 .where = node->origin().where});
  }
  kept_.push_back(node);
}

void Trace::refuse(std::string_view what, const Line& where) {
  if (!active) return;
  throw Error({.op = std::string(what),
               .got = "a value that is still being traced by " + active->name(),
               .expected = active->of_body_ ? "only ops inside the body" : "only ops inside a jit-ed function",
               .advice = active->of_body_ ? "make it one of the ys and look at it behind the scan"
                                          : "return the tensor from the function and look at it there",
               .where = origin_at(where).where});
}

Trace::Pause::Pause() : before_(active) { active = nullptr; }
Trace::Pause::~Pause() { active = before_; }

void require_known(std::string_view what, const Node& node, const Line& where) {
  if (!active || is_known(node)) return;
  const std::string print = "debug_print(x) prints a value at every call";
  throw Error({.op = std::string(what),
               .got = "a value that is still being traced by " + active->name(),
               .expected = active->of_body_ ? "only ops inside the body" : "only ops inside a jit-ed function",
               .advice = active->of_body_
                             ? "make it one of the ys and look at it behind the scan; " + print
                             : "return the tensor from the function and look at it there; " + print +
                                   "; with TEGULA_EAGER=1 or set_eager(true) jit is a plain call, in which values can be looked at",
               .where = origin_at(where).where});
}

void refuse_in_trace(std::string_view what, const Line& where) { Trace::refuse(what, where); }

}  // namespace tegula
