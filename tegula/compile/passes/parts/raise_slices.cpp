#include <algorithm>
#include <map>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/compile/view_axes.h"

namespace tegula::compile {
namespace {

class Raiser {
 public:
  explicit Raiser(const Graph& graph) : graph_(graph), users_(graph), under_(graph.items.size()) {}

  bool decide() {
    bool any = false;
    for (int i = graph_.size(); i-- > 0;) {
      under_[index(i)] = slices_of(i);
      any = any || !under_[index(i)].empty();
    }
    return any;
  }

  Graph run() {
    Rewriter rewriter(graph_);
    std::map<std::pair<int, int>, int> seen;  // (item, slice) -> the slice of the item, in the new graph
    rewriter.each([&](int i, Item& item) {
      for (std::size_t k = 0; k < item.inputs.size(); ++k) {
        const int input = graph_[i].inputs[k];
        if (graph_[input].role() == Role::View && is_raised(graph_[input].inputs[0]))
          item.inputs[k] = seen.at({graph_[input].inputs[0], input});
      }
      for (const int slice : under_[index(i)]) {
        Item part = item;
        part.shape = graph_[slice].shape, part.node = -1;
        for (std::size_t k = 0; k < part.inputs.size(); ++k) {
          const int input = graph_[i].inputs[k];
          if (graph_[input].shape.rank() == 0) continue;
          const auto [found, is_new] = seen.try_emplace({input, slice});
          if (is_new) found->second = rewriter.insert(graph_[slice].op, {item.inputs[k]}, graph_[input], {.shape = part.shape});
          part.inputs[k] = found->second;
        }
        seen[{i, slice}] = rewriter.add(std::move(part));
      }
    });
    Graph out = rewriter.finish();
    remove_dead(out);
    return out;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool is_raised(int i) const { return !under_[index(i)].empty(); }

  /// The views under which the item is to be computed; none where it stays.
  std::vector<int> slices_of(int i) const {
    const Item& item = graph_[i];
    if (item.role() != Role::Elementwise || item.shape.rank() == 0 || users_.leaves(i) || has_check(item)) return {};
    if (std::ranges::any_of(item.inputs, [&](int k) { return graph_[k].shape.rank() != 0 && graph_[k].shape != item.shape; })) return {};
    std::vector<int> all;
    for (const auto& [reader, input] : users_.of(i)) {
      if (is_slice(reader, item)) all.push_back(reader);
      else if (is_raised(reader)) all.insert(all.end(), under_[index(reader)].begin(), under_[index(reader)].end());
      else return {};
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::int64_t elements = 0;
    for (const int slice : all) elements += numel(graph_[slice].shape);
    return elements > 0 && elements <= numel(item.shape) ? all : std::vector<int>();
  }

  /// True if the reader is a view of a part of the item that only elementwise items read.
  bool is_slice(int reader, const Item& item) const {
    const Item& view = graph_[reader];
    if (view.role() != Role::View || users_.leaves(reader) || numel(view.shape) >= numel(item.shape)) return false;
    if (!view.as<ViewOp>().apply(marked(item.shape))) return false;
    return std::ranges::all_of(users_.of(reader), [&](const Users::Use& next) { return graph_[next.reader].role() == Role::Elementwise; });
  }

  const Graph& graph_;
  Users users_;
  std::vector<std::vector<int>> under_;
};

}  // namespace

void raise_slices(Graph& graph) {
  Raiser raiser(graph);
  if (raiser.decide()) graph = raiser.run();
}

}  // namespace tegula::compile
