// The places of items: through views, over other values, within joins.

#include <algorithm>

#include "tegula/compile/graph.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {

int input_overwritten(const Op& op, int result) {
  if (op.role() != Role::Kernel) return -1;
  return static_cast<const KernelOp&>(op).overwrites(result);
}

std::vector<int> inputs_overwritten(const Item& item) {
  std::vector<int> out;
  const auto results = std::max<std::size_t>(item.results.size(), 1);
  for (std::size_t k = 0; k < results; ++k)
    if (const int input = input_overwritten(*item.op, static_cast<int>(k)); input >= 0) out.push_back(input);
  return out;
}

int overwritten(const Graph& graph, int i) {
  const Item& producer = graph[producer_of(graph, i)];
  if (!producer.results.empty() && !graph[i].is_part()) return -1;  // its parts are values, it is none
  const int input = input_overwritten(*producer.op, result_of(graph, i));
  if (input < 0) return -1;
  int base = producer.inputs[index(input)];
  while (graph[base].shows_input()) base = graph[base].inputs[0];
  return base;
}

std::vector<bool> writers_over_leaves(const Graph& graph) {
  std::vector<bool> out(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    const int bottom = graph.place(i).spot.bottom;
    if (!graph[i].shows_input() && bottom != i && graph[bottom].role() == Role::Leaf) out[index(producer_of(graph, i))] = true;
  }
  return out;
}

Layout layout_of(const Item& item) {
  if (item.within->whole >= 0) return {item.shape, item.within->layout.strides, 0};
  Layout layout = Layout::dense(item.shape);
  if (item.order.empty()) return layout;
  std::int64_t stride = 1;
  for (int i = item.order.rank() - 1; i >= 0; --i) {
    const int axis = static_cast<int>(item.order[i]);
    layout.strides[axis] = stride;
    stride *= item.shape[axis];
  }
  return layout;
}

namespace {

/// The layout of an item that shows no other.
Layout layout_of_value(const Graph& graph, const Item& item) {
  if (item.role() == Role::Leaf) return graph.leaf(item).layout;
  return item.role() == Role::Index ? item.as<IndexOp>().layout() : layout_of(item);
}

}  // namespace

Access access_of(const Graph& graph, int item) {
  std::vector<int> views;
  for (; graph.places.empty() && graph[item].shows_input(); item = graph[item].inputs[0]) views.push_back(item);
  if (!graph.places.empty()) return {graph.place(item).value, graph.place(item).layout};
  Layout layout = layout_of_value(graph, graph[item]);
  for (auto it = views.rbegin(); it != views.rend(); ++it) {
    const Op& view = *graph[*it].op;
    if (const auto next = shown(view, layout)) {
      layout = *next;
    } else {  // materialize will let it look at a copy
      item = graph[*it].inputs[0];
      layout = *shown(view, Layout::dense(layout.shape));
    }
  }
  return {item, layout};
}

Place place_of(const Graph& graph, std::span<const Place> before, int i) {
  const Item& item = graph[i];
  const auto place = [&](int input) -> const Place& { return before[index(input)]; };
  if (!item.shows_input()) {
    const int below = overwritten(graph, i);
    const Spot spot{.root = i, .last = numel(item.shape), .bottom = below < 0 ? i : place(below).spot.bottom};
    return {.value = i, .layout = layout_of_value(graph, item), .spot = spot};
  }
  Place out = place(item.inputs[0]);
  out.layout = shown(*item.op, out.layout).value();
  out.waits = out.waits || item.role() == Role::Barrier;
  return out;
}

std::vector<Place> places(const Graph& graph) {
  std::vector<Place> out;
  out.reserve(graph.items.size());
  const auto place = [&](int i) -> Place& { return out[index(i)]; };
  for (int i = 0; i < graph.size(); ++i) out.push_back(place_of(graph, out, i));
  for (int i = graph.size(); i-- > 0;) {  // joins before their pieces
    if (!graph[i].assembled) continue;
    const Spot whole = place(i).spot;
    std::int64_t first = whole.first;
    for (const int input : graph[i].inputs) {
      const int piece = place(input).value;
      const std::int64_t end = first + numel(graph[input].shape);
      if (const Within& within = *graph[piece].within; within.whole == i)
        place(piece).spot = {whole.root, whole.offset + within.layout.offset, first, end, whole.root};
      first = end;
    }
  }
  for (int i = 0; i < graph.size(); ++i) {
    if (graph[i].shows_input()) place(i).spot = place(place(i).value).spot;
    else if (const int below = overwritten(graph, i); below >= 0) place(i).spot.bottom = place(below).spot.bottom;
  }
  return out;
}

}  // namespace tegula::compile
