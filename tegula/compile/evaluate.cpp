#include "tegula/graph/evaluate.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "tegula/compile/check_finite.h"
#include "tegula/compile/run/cache.h"
#include "tegula/compile/run/placement.h"
#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/history.h"
#include "tegula/graph/noted.h"
#include "tegula/graph/recent_scalars.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/same_op.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace {

thread_local std::size_t pending_nodes = 0;

/// Nodes that must be computed without a request, after the current op has been made.
struct Noted {
  std::vector<std::vector<Ref<Node>>> each;  // results of one op together
  std::vector<Ref<Node>> newest;  // behind the bound
};
thread_local Noted* noted = nullptr;  // of a thread whose objects may be gone already: static ones make nodes, too
std::atomic<std::size_t> pending_bound{100'000};

std::atomic<int>& eager_state() {
  static std::atomic<int> state{std::getenv("TEGULA_EAGER") && std::strcmp(std::getenv("TEGULA_EAGER"), "0") != 0 ? 1 : 0};
  return state;
}

// Values that need no program: a view of a value, a number.
bool settle_directly(Node& node) {
  if (shows_input(node.op().role()) && node.input(0).has_value()) {
    if (const auto layout = shown(node.op(), node.input(0).layout())) {
      node.set_value(node.input(0).buffer(), *layout);
      return true;
    }
  }
  if (node.op().role() == Role::Scalar) {
    HostArray array = HostArray::empty(node.dtype(), {});
    const Number& value = static_cast<const ScalarOp&>(node.op()).value();
    visit(node.dtype(), [&](auto zero) { array.values<decltype(zero)>()[0] = value.as<decltype(zero)>(); });
    node.set_value(array.buffer, Layout::dense({}));
    return true;
  }
  return false;
}

[[noreturn]] void throw_unbound(const Node& node, const Line& where) {
  throw Error({.op = "evaluate",
               .got = "a tensor of the jit-ed function at " + to_string(node.origin().where) + ", outside of it",
               .expected = "tensors that have a value or can be computed",
               .advice = "return the tensor from the function; those it leaves elsewhere have no value",
               .where = where});
}

// The node whose value this one shares once it is computed: a node that stops gradients (cuts) stands for its first input.
const Ref<Node>& behind(const Ref<Node>& node) {
  const Ref<Node>* at = &node;
  while (!(*at)->has_value() && (*at)->cuts()) at = &(*at)->inputs()[0];
  return *at;
}

/// The nodes to which one evaluation gives values.
struct Work {
  std::vector<Ref<Node>> roots;   // those that a program computes
  std::vector<Ref<Node>> direct;  // those that have their values already
  std::vector<Ref<Node>> cuts;    // values of Variables and the like: they get what lies behind them
  std::vector<Ref<Node>> losses;  // of the roots, the float scalars that were asked for: their gradients are likely to be asked for next
  std::size_t nodes = 0;          // that are computed on the way
  std::vector<Ref<Node>> leaves;  // read
};

// Each node once; what needs no program gets its value here.
Work work_for(std::span<const Ref<Node>> asked, const std::vector<Ref<Cell>>& cells) {
  Work work;
  std::unordered_set<const Node*> seen;
  const auto add = [&](const Ref<Node>& wanted, bool by_name) {
    if (wanted->has_value() || !seen.insert(wanted.get()).second) return;
    const Ref<Node> node = behind(wanted);
    if (node != wanted) {
      work.cuts.push_back(wanted);
      if (node->has_value() || !seen.insert(node.get()).second) return;
    }
    if (settle_directly(*node)) return work.direct.push_back(node);
    work.roots.push_back(node);
    if (by_name && is_float(node->dtype()) && numel(node->shape()) == 1) work.losses.push_back(node);
  };
  for (const auto& node : asked) add(node, true);
  for (const auto& cell : cells) add(cell->value().node(), false);
  return work;
}

bool is_computed(const Node& node) {
  return !compile::is_leaf(node) && node.results().empty() && node.op().role() != Role::Scalar && node.op().role() != Role::Index;
}

// Results that somebody holds beside others that are computed: one run gives all of them.
void add_siblings(const compile::Reading& reading, Work& work) {
  std::unordered_set<const Node*> known;
  for (const Node* node : reading.order) {
    if (node->results().empty()) continue;
    if (known.empty()) known.insert(reading.order.begin(), reading.order.end());
    for (int k = 0; k < static_cast<int>(node->results().size()); ++k) {
      Ref<Node> part = node->living_part(k);
      if (part && !part->has_value() && !known.contains(part.get())) work.roots.push_back(std::move(part));
    }
  }
}

// How often what nobody holds is computed again before it is kept: a loss, its gradient, and one look more.
constexpr int kMostPasses = 2;

// Which nodes get a value besides those that were asked for, so that what comes next need not compute them again: below a loss, the results
// of calls (not of reductions: that would cut fused groups); what is computed for the second time and somebody holds who is not part of
// this graph (for the first time it may be a temporary of the expression at hand); what is computed again and again for what is new, which
// is how a tensor that is carried from step to step (h = f(h)) stays a plan of a few steps.
std::vector<std::size_t> worth_keeping(const compile::Reading& reading, Work& work) {
  const std::size_t count = reading.order.size();
  std::vector<bool> kept(count), below(count), read_by_new(count);
  std::unordered_set<const Node*> losses, known;
  for (const auto& loss : work.losses) losses.insert(loss.get());
  for (const auto& root : work.roots) known.insert(root.get());
  for (const auto& cut : work.cuts) known.insert(cut.get());
  std::vector<std::size_t> calls;
  std::size_t bytes = 0;
  for (std::size_t i = count; i-- > 0;) {
    const Node& node = *reading.order[i];
    if (compile::is_leaf(node)) continue;
    if (losses.contains(&node)) below[i] = true;
    if (below[i] && !node.cuts()) {
      const Role role = node.op().role();
      // The gradient of a custom function or checkpoint does not read the nodes inside it.
      for (const std::size_t input : reading.inputs_of(i).subspan(inside_inputs(node))) below[input] = true;
      if ((role == Role::Library || role == Role::Kernel || role == Role::Part) && node.results().empty() && is_float(node.dtype())) {
        calls.push_back(i);
        bytes += compile::bytes_of(node);
      }
    }
    if (node.times_passed() < kMostPasses) {
      for (const std::size_t input : reading.inputs_of(i)) read_by_new[input] = true;
    }
    const bool held = node.use_count() > reading.uses[i] && node.times_passed() > 0;
    const bool carried = node.times_passed() >= kMostPasses && read_by_new[i];
    if (!(held || carried) || known.contains(&node)) continue;
    // For a view its base is kept; a node that shares another one's value needs that node itself.
    std::size_t base = i;
    const auto looks_through = [&](const Node& at) {
      return !compile::is_leaf(at) && (node.cuts() ? at.cuts() : shows_input(at.op().role()));
    };
    while (looks_through(*reading.order[base])) base = reading.inputs_of(base)[0];
    const bool computed = is_computed(*reading.order[base]);
    if (computed) kept[base] = true;
    if (node.cuts() && (computed || reading.order[base]->has_value())) work.cuts.emplace_back(const_cast<Node*>(&node));
  }
  if (bytes <= history_budget().bytes) {
    for (const std::size_t call : calls) kept[call] = true;
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept[i] && !known.contains(reading.order[i])) out.push_back(i);
  }
  return out;
}

struct Compiled {
  compile::Reading reading;
  std::shared_ptr<compile::Executable> executable;
};

Compiled compiled(Work& work, runtime::Device& device, const Line& where) {
  std::vector<const Node*> pointers;
  for (const auto& root : work.roots) pointers.push_back(root.get());
  compile::Reading reading = compile::read(pointers);
  add_siblings(reading, work);
  bool moved = pointers.size() != work.roots.size();
  for (std::size_t i = pointers.size(); i < work.roots.size(); ++i) pointers.push_back(work.roots[i].get());
  for (const Node* leaf : reading.leaves) {
    if (!leaf->has_value()) throw_unbound(*leaf, where);
    moved |= compile::move_to(const_cast<Node&>(*leaf), device);
  }
  if (moved) reading = compile::read(pointers);  // the layouts of leaves are part of the key, and siblings are read too
  for (const std::size_t i : worth_keeping(reading, work)) {
    work.roots.emplace_back(const_cast<Node*>(reading.order[i]));
    pointers.push_back(reading.order[i]);
    reading.key.push_back(i);
  }
  reading.key.push_back(static_cast<std::uint64_t>(device.max_threads()) << 32 | static_cast<std::uint64_t>(device.number()));
  work.nodes = reading.order.size() - reading.leaves.size();
  auto executable = compile::cached(reading.key, [&] { return compile::compile(compile::flatten(reading, pointers, {}), device); });
  return {std::move(reading), std::move(executable)};
}

// With the graph's mutex, which is free while the program runs.
void run(Work& work, std::unique_lock<std::recursive_mutex>& graph, const Line& where) {
  runtime::Device& device = default_device();
  const auto [reading, executable] = compiled(work, device, where);
  std::vector<void*> leaves, outputs;
  for (const Node* leaf : reading.leaves) {
    leaves.push_back(leaf->data());
    work.leaves.emplace_back(const_cast<Node*>(leaf));
  }
  std::vector<Ref<Buffer>> buffers;
  for (const auto& root : work.roots) {
    buffers.push_back(compile::allocate_like(*root, device));
    outputs.push_back(buffers.back()->data());
  }
  std::vector<Ref<Node>> named;  // by errors: another thread may give them values and let their inputs go
  for (const Node* node : reading.order) named.emplace_back(const_cast<Node*>(node));
  graph.unlock();
  {
    std::scoped_lock lock(executable->mutex());
    executable->run({.leaves = leaves, .constants = reading.constants, .outputs = outputs, .updates = {}, .nodes = reading.order});
    if (device.traits().queues && executable->checks()) executable->confirm_now(reading.order);
  }
  graph.lock();
  for (const auto& node : named) node->pass();
  for (std::size_t i = 0; i < work.roots.size(); ++i) {
    if (work.roots[i]->has_value()) continue;  // another thread was faster: one value for all
    work.roots[i]->set_value(std::move(buffers[i]), Layout::dense(work.roots[i]->shape()));
  }
}

void compute(std::span<const Ref<Node>> asked, const std::vector<Ref<Cell>>& cells, const Line& where) {
  std::unique_lock graph(graph_mutex());
  Work work = work_for(asked, cells);
  if (!work.roots.empty()) run(work, graph, where);
  for (const auto& node : work.cuts) {
    if (node->has_value()) continue;
    const Node& value = *behind(node);
    node->set_value(value.buffer(), value.layout());
  }
  for (const auto& node : work.cuts) {
    node->become_leaf();
    constexpr int kOwnHolders = 2;  // a Variable, and this list
    if (node->cell_number() != 0 && node->use_count() > kOwnHolders) work.leaves.push_back(node);  // read by what was computed with it
  }
  work.cuts.clear();  // so that what only they held is seen to die
  work.losses.clear();
  std::vector<const Node*> leaves;
  for (const auto& leaf : work.leaves) leaves.push_back(leaf.get());
  if (!work.roots.empty()) KeptHistory::remember(work.roots, work.nodes, leaves);
  if (!work.direct.empty()) KeptHistory::remember(work.direct, work.direct.size(), {});
}

}  // namespace

void prepare_evaluation(std::span<const Ref<Node>> nodes, const Line& where) {
  runtime::Device& device = default_device();
  if (!device.traits().queues) return;
  const std::scoped_lock lock(graph_mutex());
  if (Work work = work_for(nodes, Cell::pending()); !work.roots.empty()) compiled(work, device, where);
}

namespace {

void compute_with(std::span<const Ref<Node>> nodes, const std::vector<Ref<Cell>>& cells, const Line& where) {
  if (cells.empty()) return compute(nodes, {}, where);
  try {
    compute(nodes, cells, where);
  } catch (const Error& error) {
    // Evaluates the requested nodes alone: if they fail, the error is their own.
    compute(nodes, {}, where);
    warn("evaluate.pending_write",
         "a value assigned to a Variable cannot be computed, reading that Variable will say so: " + std::string(error.what()));
  }
}

}  // namespace

void evaluate(std::span<const Ref<Node>> nodes, const Line& where) {
  refuse_in_trace("evaluate", where);
  settle_noted();
  pending_nodes = 0;
  const std::vector<Ref<Cell>> cells = Cell::pending();
  Cell::settle_later();  // computed here, or, after a failure, when they are asked for
  const compile::FiniteCheck check(nodes, cells);
  compute_with(nodes, cells, where);
  check.require();
}

void evaluate_pending(const Line& where) {
  refuse_in_trace("evaluate", where);
  settle_noted();
  pending_nodes = 0;
  std::vector<Ref<Node>> scalars = RecentScalars::take();
  std::erase_if(scalars, [](const Ref<Node>& node) { return node->has_value() || node->use_count() == 1; });
  const std::vector<Ref<Cell>> cells = Cell::pending();
  Cell::settle_later();
  const compile::FiniteCheck check(scalars, cells);
  try {
    compute(scalars, cells, where);
  } catch (const Error&) {  // nobody has asked for the scalars: who does is told what is wrong with them
    compute_with({}, cells, where);
  }
  check.require();
}

namespace {

bool too_many_pending() { return pending_nodes > pending_bound.load(std::memory_order_relaxed); }

/// True for a computed float scalar, as a loss or a sum of losses is.
bool is_float_scalar(const Node& node) {
  const Role role = node.op().role();
  return is_float(node.dtype()) && numel(node.shape()) == 1 && role != Role::Scalar && role != Role::Index && role != Role::Leaf;
}

}  // namespace

void note_new_nodes(std::span<const Ref<Node>> nodes) {
  const Node& first = nodes[0]->is_part() ? nodes[0]->input(0) : *nodes[0];
  const Effect effect = effect_of(first.op());
  if (Trace* const trace = Trace::current()) {
    if (effect == Effect::Always) trace->keep(nodes[0]);
    return;
  }
  // Exchanges with other processes must happen at their place in the program.
  bool at_all_events = effect != Effect::None;
  if (!at_all_events) {
    if (nodes.size() == 1 && is_float_scalar(*nodes[0])) RecentScalars::note(nodes[0]);
    pending_nodes += nodes.size();
    at_all_events = eager();
    if (!at_all_events && !too_many_pending()) return;
  }
  if (!noted) noted = new Noted;
  if (at_all_events) noted->each.emplace_back(nodes.begin(), nodes.end());
  else noted->newest.assign(nodes.begin(), nodes.end());
  if (!Making::any()) settle_noted();
}

void forget_noted() {
  if (!noted) return;
  noted->newest.clear();
  std::erase_if(noted->each, [](const auto& nodes) {
    const Node& first = nodes[0]->is_part() ? nodes[0]->input(0) : *nodes[0];
    return effect_of(first.op()) == Effect::None;
  });
}

void settle_noted() {
  if (!noted || Trace::current()) return;
  const std::unique_ptr<Noted> now(std::exchange(noted, nullptr));
  const auto compute = [](std::span<const Ref<Node>> nodes) {
    if (!std::ranges::all_of(nodes, [](const Ref<Node>& node) { return node->has_value(); })) evaluate(nodes, nodes[0]->origin().where);
  };
  for (auto& nodes : now->each) {
    compute(nodes);
    nodes.clear();  // what nobody else holds goes before the next is computed
  }
  if (!now->newest.empty() && too_many_pending()) compute(now->newest);
}

void set_pending_bound(std::size_t nodes) { pending_bound = nodes; }
bool eager() { return eager_state().load(std::memory_order_relaxed) != 0; }
void set_eager(bool on) { eager_state() = on ? 1 : 0; }

}  // namespace tegula
