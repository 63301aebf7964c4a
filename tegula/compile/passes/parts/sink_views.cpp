#include <algorithm>
#include <map>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/compile/view_axes.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

class Sinker : Rewriter {
 public:
  explicit Sinker(const Graph& graph) : Rewriter(graph), users_(graph), slices_(graph.items.size()) {
    for (int i = graph.size(); i-- > 0;) slices_[index(i)] = slices_of(i);
  }

  bool any_slices() const {
    return std::ranges::any_of(slices_, [](const auto& slices) { return !slices.empty(); });
  }

  Graph run() {
    each([this](int i, Item& item) {
      for (std::size_t k = 0; k < item.inputs.size(); ++k) {
        const int input = from()[i].inputs[k];
        if (from()[input].role() == Role::View && is_sliced(from()[input].inputs[0]))
          item.inputs[k] = sliced_.at({from()[input].inputs[0], input});
      }
      for (const int slice : slices_[index(i)]) sliced_[{i, slice}] = part(i, item, slice);
      sink_casts(item);
    });
    Graph out = finish();
    remove_dead(out);
    return out;
  }

 private:
  bool is_sliced(int i) const { return !slices_[index(i)].empty(); }

  /// The views under which the item is to be computed; none where it stays.
  std::vector<int> slices_of(int i) const {
    const Item& item = from()[i];
    if (item.role() != Role::Elementwise || item.shape.rank() == 0 || users_.leaves(i) || has_check(item)) return {};
    if (std::ranges::any_of(item.inputs, [&](int k) { return from()[k].shape.rank() != 0 && from()[k].shape != item.shape; })) return {};
    std::vector<int> all;
    for (const auto& [reader, input] : users_.of(i)) {
      if (is_slice(reader, item)) all.push_back(reader);
      else if (is_sliced(reader)) all.insert(all.end(), slices_[index(reader)].begin(), slices_[index(reader)].end());
      else return {};
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::int64_t elements = 0;
    for (const int slice : all) elements += numel(from()[slice].shape);
    return elements > 0 && elements <= numel(item.shape) ? all : std::vector<int>();
  }

  /// True if the reader is a view of a part of the item that only elementwise items read.
  bool is_slice(int reader, const Item& item) const {
    const Item& view = from()[reader];
    if (view.role() != Role::View || users_.leaves(reader) || numel(view.shape) >= numel(item.shape)) return false;
    if (!view.as<ViewOp>().apply(marked(item.shape))) return false;
    return std::ranges::all_of(users_.of(reader), [&](const Users::Use& next) { return from()[next.reader].role() == Role::Elementwise; });
  }

  /// The slice of item i, computed of slices of its inputs.
  int part(int i, Item item, int slice) {
    item.shape = from()[slice].shape, item.node = -1;
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      const int input = from()[i].inputs[k];
      if (from()[input].shape.rank() == 0) continue;
      const auto [found, is_new] = sliced_.try_emplace({input, slice});
      if (is_new) found->second = insert(from()[slice].op, {item.inputs[k]}, from()[input], {.shape = item.shape});
      item.inputs[k] = found->second;
    }
    sink_casts(item);
    return add(std::move(item));
  }

  void sink_casts(Item& item) {
    if (item.role() != Role::Elementwise && item.role() != Role::Reduce) return;
    for (int& input : item.inputs) input = sunk(input);
  }

  /// A view that repeats a widened leaf, or shows it with other axes, as the widened view of the leaf itself; anything else as it is.
  int sunk(int input) {
    const auto [views, base] = seen_through_views(out(), input);
    const Item cast = out()[base];
    if (cast.op != cast_op() || cast.dtype != DType::f32 || views.empty()) return input;
    if (numel(out()[input].shape) <= numel(cast.shape) && !shows_all_in_order(input)) return input;
    if (!is_half(out()[cast.inputs[0]].dtype) || out()[cast.inputs[0]].role() != Role::Leaf) return input;
    if (const auto known = sunk_.find(input); known != sunk_.end()) return known->second;
    const int x = insert(out(), views, cast.inputs[0]);
    return sunk_[input] = insert(cast.op, {x}, cast, {.shape = out()[x].shape});
  }

  bool shows_all_in_order(int input) const {
    const Access access = access_of(out(), input);
    return access.layout.is_dense() && numel(access.layout.shape) == numel(out()[access.base].shape) && !out()[access.base].shows_input();
  }

  Users users_;
  std::vector<std::vector<int>> slices_;  // of items that are computed slice by slice
  std::map<std::pair<int, int>, int> sliced_;  // (item, slice) -> the slice of the item, in the new graph
  std::map<int, int> sunk_;  // views of casts -> casts of views, in the new graph
};

}  // namespace

void sink_views(Graph& graph) {
  const bool halves = std::ranges::any_of(graph.leaves, [](const Leaf& leaf) { return is_half(leaf.dtype); });
  const auto may_slice = [&](const Item& item) {
    return item.role() == Role::View && graph[item.inputs[0]].role() == Role::Elementwise &&
           numel(item.shape) < numel(graph[item.inputs[0]].shape);
  };
  if (!halves && std::ranges::none_of(graph.items, may_slice)) return;
  Sinker sinker(graph);
  if (halves || sinker.any_slices()) graph = sinker.run();
}

}  // namespace tegula::compile
