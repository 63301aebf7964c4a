#include "tegula/graph/evaluate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "tegula/compile/cache.h"
#include "tegula/compile/placement.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace {

thread_local std::size_t pending_nodes = 0;
std::atomic<std::size_t> pending_bound{100'000};

std::atomic<int>& eager_state() {
  static std::atomic<int> state{std::getenv("TEGULA_EAGER") && std::strcmp(std::getenv("TEGULA_EAGER"), "0") != 0 ? 1 : 0};
  return state;
}

// The nodes evaluated last keep their history, so that `grad` still works after a look at the loss. A write to a Variable ends that.
class History {
 public:
  void remember(const Ref<Node>& node) {
    if (node->inputs().empty()) return;
    if (ring_[next_]) ring_[next_]->forget();
    ring_[next_] = node;
    next_ = (next_ + 1) % ring_.size();
  }
  void forget() {
    for (auto& node : ring_) {
      if (node) node->forget();
      node = nullptr;
    }
  }

 private:
  std::array<Ref<Node>, 16> ring_;
  std::size_t next_ = 0;
};
thread_local History history;

// Values that need no program: a view of a value, a number.
bool settle_directly(Node& node) {
  if (node.op().role() == Role::View && node.input(0).has_value()) {
    if (const auto layout = static_cast<const ViewOp&>(node.op()).apply(node.input(0).layout())) {
      node.set_value(node.input(0).buffer(), *layout);
      return true;
    }
  }
  if (node.op().role() == Role::Scalar) {
    HostArray array = HostArray::empty(node.dtype(), {});
    const double value = static_cast<const ScalarOp&>(node.op()).value();
    visit(node.dtype(), [&](auto zero) { array.values<decltype(zero)>()[0] = from_double<decltype(zero)>(value); });
    node.set_value(array.buffer, Layout::dense({}));
    return true;
  }
  return false;
}

[[noreturn]] void throw_unbound(const Node& node, const std::source_location& where) {
  throw Error({.op = "evaluate",
               .got = "a tensor of the jit-ed function at " + to_string(node.origin().where) + ", outside of it",
               .expected = "tensors that have a value or can be computed",
               .advice = "return the tensor from the function; those it leaves elsewhere have no value",
               .where = where});
}

std::vector<Ref<Node>> with_values_of(const std::vector<Ref<Cell>>& cells, std::span<const Ref<Node>> nodes) {
  std::vector<Ref<Node>> all(nodes.begin(), nodes.end());
  for (const auto& cell : cells) all.push_back(cell->value().node());
  return all;
}

/// Those that a program must compute, each once; the others get their values.
std::vector<Ref<Node>> uncomputed(const std::vector<Ref<Node>>& nodes) {
  std::vector<Ref<Node>> roots;
  std::unordered_set<const Node*> known;
  for (const auto& node : nodes) {
    if (node->has_value() || (nodes.size() > 1 && !known.insert(node.get()).second)) continue;
    if (!settle_directly(*node)) roots.push_back(node);
  }
  return roots;
}

struct Compiled {
  compile::Reading reading;
  std::shared_ptr<compile::Executable> executable;
};

Compiled compiled(const std::vector<Ref<Node>>& roots, runtime::Device& device, const std::source_location& where) {
  std::vector<const Node*> pointers;
  for (const auto& root : roots) pointers.push_back(root.get());
  compile::Reading reading = compile::read(pointers);
  bool moved = false;
  for (const Node* leaf : reading.leaves) {
    if (!leaf->has_value()) throw_unbound(*leaf, where);
    moved |= compile::move_to(const_cast<Node&>(*leaf), device);
  }
  if (moved) reading = compile::read(pointers);  // the layouts of leaves are part of the key
  reading.key.push_back(static_cast<std::uint64_t>(device.max_threads()) << 32 | static_cast<std::uint64_t>(device.number()));
  auto executable = compile::cached(reading.key, [&] { return compile::compile(compile::flatten(reading, pointers, {}), device); });
  return {std::move(reading), std::move(executable)};
}

void run(const std::vector<Ref<Node>>& roots, const std::source_location& where) {
  runtime::Device& device = default_device();
  const auto [reading, executable] = compiled(roots, device, where);
  std::vector<void*> leaves, outputs;
  for (const Node* leaf : reading.leaves) leaves.push_back(leaf->data());
  std::vector<Ref<Buffer>> buffers;
  for (const auto& root : roots) {
    buffers.push_back(compile::allocate_like(*root, device));
    outputs.push_back(buffers.back()->data());
  }
  {
    std::scoped_lock lock(executable->mutex());
    executable->run({.leaves = leaves, .constants = reading.constants, .outputs = outputs, .updates = {}, .nodes = reading.order});
    if (device.asynchronous() && executable->checks()) executable->confirm_now(reading.order);
  }
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i]->set_value(std::move(buffers[i]), Layout::dense(roots[i]->shape()));
}

}  // namespace

std::vector<Ref<Cell>>& pending_writes() {
  thread_local std::vector<Ref<Cell>> cells;
  return cells;
}

void prepare_evaluation(std::span<const Ref<Node>> nodes, const std::source_location& where) {
  runtime::Device& device = default_device();
  if (!device.asynchronous()) return;
  if (const auto roots = uncomputed(with_values_of(pending_writes(), nodes)); !roots.empty()) compiled(roots, device, where);
}

void evaluate(std::span<const Ref<Node>> nodes, const std::source_location& where) {
  refuse_in_trace("evaluate", where);
  const auto cells = std::exchange(pending_writes(), {});
  const std::vector<Ref<Node>> all = with_values_of(cells, nodes), roots = uncomputed(all);
  pending_nodes = 0;
  try {
    if (!roots.empty()) run(roots, where);
  } catch (...) {
    // The writes stay pending: a failed evaluation changes nothing.
    pending_writes().insert(pending_writes().end(), cells.begin(), cells.end());
    throw;
  }
  // Cells hold leaves. A step that wrote Variables is over; what came before it needs no gradient any more.
  for (const auto& cell : cells) cell->value().node()->forget();
  if (std::any_of(cells.begin(), cells.end(), [](const auto& cell) { return cell->written(); })) {
    history.forget();
    for (const auto& node : all) node->forget();
  } else {
    for (const auto& node : roots) history.remember(node);
  }
}

void note_new_node(Node& node) {
  if (Trace::current()) return;
  if (++pending_nodes <= pending_bound.load(std::memory_order_relaxed) && !eager_state().load(std::memory_order_relaxed)) return;
  const Ref<Node> nodes[] = {Ref<Node>(&node)};
  const bool flush = !eager();
  evaluate(nodes, node.origin().where);
  if (flush) node.forget();
}

void set_pending_bound(std::size_t nodes) { pending_bound = nodes; }
bool eager() { return eager_state().load(std::memory_order_relaxed) != 0; }
void set_eager(bool on) { eager_state() = on ? 1 : 0; }

}  // namespace tegula
