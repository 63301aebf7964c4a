// Separates work that depends on steady values only from work that changes with every run.

#include "tegula/compile/passes/cut_steady.h"

#include <algorithm>

#include "tegula/core/check.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

bool is_steady(const Graph& graph, const Item& item, const std::vector<bool>& steady) {
  if (effect_of(*item.op) != Effect::None) return false;  // belongs to the run
  switch (item.role()) {
    case Role::Leaf: return graph.leaf(item).steady;
    case Role::Elementwise:
      if (item.as<ElementwiseOp>().has_check()) return false;
      break;
    case Role::Barrier: return false;
    case Role::Kernel: return false;  // may check its operands
    default: break;
  }
  return std::all_of(item.inputs.begin(), item.inputs.end(), [&](int input) { return steady[index(input)]; });
}

/// The order in which its terms are added follows from the program or call that it lands in.
bool has_order(const Item& item) { return item.role() == Role::Reduce || item.role() == Role::Library; }

/// Which steady items are worth keeping.
class Chooser {
 public:
  explicit Chooser(const Graph& graph)
      : graph_(graph),
        steady_(steady_items(graph)),
        result_(graph.items.size()),
        forbidden_(graph.items.size()) {
    for (int output : graph.outputs) result_[index(output)] = true;
    for (const auto& update : graph.updates) result_[index(update.item)] = true;
    forbid_overwritten();
    measure();
    do choose();
    while (forbid_two_orders());
  }

  const std::vector<bool>& kept() const { return kept_; }

 private:
  void choose() {
    kept_.assign(graph_.items.size(), false);
    every_time_ = result_;  // results must be computed by the plan that gives them
    for (int i = graph_.size() - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      kept_[at] = kept_[at] && !result_[at];
      every_time_[at] = !kept_[at] && (every_time_[at] || !steady_[at]);
      if (!every_time_[at]) continue;
      const Item& item = graph_[i];
      for (const int input : item.inputs) {
        const int base = access_of(graph_, input).base;
        if (steady_[index(base)] && is_worth(item, base)) kept_[index(base)] = true;
        every_time_[index(input)] = every_time_[index(base)] = true;
      }
    }
  }

  // A sum or product that both plans computed would have two values: what is kept would not be made of what it is compared with.
  bool forbid_two_orders() {
    std::vector<bool> twice(graph_.items.size());
    bool found = false;
    for (int i = 0; i < graph_.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!steady_[at]) continue;
      const std::vector<int>& inputs = graph_[i].inputs;
      twice[at] = (every_time_[at] && has_order(graph_[i])) ||
                  std::any_of(inputs.begin(), inputs.end(), [&](int input) { return twice[index(input)]; });
      if (twice[at] && kept_[at]) forbidden_[at] = found = true;
    }
    return found;
  }

  // An overwritten input lies in the plan's own memory: a kept value would have to be copied there, and materialize has already made its copies. Runs
  // over all items before the choice, since the views between an item and what it writes over are readers of that as well.
  void forbid_overwritten() {
    for (const Item& item : graph_.items) {
      for (const int input : inputs_overwritten(item)) forbidden_[index(access_of(graph_, item.inputs[index(input)]).base)] = true;
    }
  }

  // Bytes of the largest leaf below each steady item, and whether there is more than elementwise work.
  void measure() {
    leaf_bytes_.resize(graph_.items.size());
    heavy_.resize(graph_.items.size());
    for (int i = 0; i < graph_.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Item& item = graph_[i];
      if (!steady_[at]) continue;
      if (item.role() == Role::Leaf) leaf_bytes_[at] = static_cast<double>(bytes_of(item));
      heavy_[at] = has_order(item);
      for (int input : item.inputs) {
        leaf_bytes_[at] = std::max(leaf_bytes_[at], leaf_bytes_[index(input)]);
        heavy_[at] = heavy_[at] || heavy_[index(input)];
      }
    }
  }

  bool is_worth(const Item& reader, int base) const {
    const Item& item = graph_[base];
    if (forbidden_[index(base)] || !item.is_computed() || numel(item.shape) == 0) return false;
    const bool is_number = numel(item.shape) == 1;  // in memory, for a call that takes it so
    if (!is_number && static_cast<double>(bytes_of(item)) > 2 * leaf_bytes_[index(base)]) return false;
    if (reader.role() == Role::Library || reader.role() == Role::Kernel) return true;
    if (heavy_[index(base)]) return true;
    // Not what is made of a learning rate: each change would cost a launch of its own.
    return !reader.shows_input() && numel(item.shape) < numel(reader.shape) && numel(item.shape) > 1;
  }

  const Graph& graph_;
  std::vector<bool> steady_, result_, kept_;
  std::vector<bool> every_time_;  // computed by the plan that runs every time, though it may be steady
  std::vector<bool> forbidden_;
  std::vector<double> leaf_bytes_;
  std::vector<bool> heavy_;
};

}  // namespace

std::vector<bool> steady_items(const Graph& graph) {
  std::vector<bool> steady(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) steady[index(i)] = is_steady(graph, graph[i], steady);
  return steady;
}

bool only_answers(const Graph& graph) {
  if (!graph.updates.empty() || checking(Check::Nan)) return false;
  const auto is_weight = [](const Leaf& leaf) { return leaf.steady && leaf.shape.rank() >= 2; };
  const auto is_backward = [](const Item& item) { return is_within(item.origin, kGradFrame); };
  return std::ranges::any_of(graph.leaves, is_weight) && std::ranges::none_of(graph.items, is_backward);
}

std::optional<Graph> cut_steady(Graph& graph) {
  if (std::none_of(graph.leaves.begin(), graph.leaves.end(), [](const Leaf& leaf) { return leaf.steady; })) return std::nullopt;
  const Chooser chooser(graph);
  if (std::ranges::find(chooser.kept(), true) == chooser.kept().end()) return std::nullopt;
  Graph once = graph;
  once.outputs.clear(), once.updates.clear();
  for (int i = 0; i < graph.size(); ++i) {
    if (!chooser.kept()[index(i)]) continue;
    once.outputs.push_back(i);
    Item& item = graph[i];
    graph.leaves.push_back({item.shape, item.dtype, layout_of(item)});
    item = {.op = leaf_op(),
            .inputs = {},
            .shape = item.shape,
            .dtype = item.dtype,
            .origin = item.origin,
            .slot = static_cast<int>(graph.leaves.size()) - 1,
            .order = {}};
  }
  remove_dead(graph);
  remove_dead(once);
  return once;
}

}  // namespace tegula::compile
