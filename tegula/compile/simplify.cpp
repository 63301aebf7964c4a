#include <map>
#include <typeinfo>

#include "tegula/compile/passes.h"

namespace tegula::compile {
namespace {

// Strides that no combination of axes can produce by accident, to see what a view does to each axis.
Layout probe(const Shape& shape) {
  Layout layout{shape, Dims::filled(shape.rank(), 0), 0};
  for (int i = 0; i < shape.rank(); ++i) layout.strides[i] = std::int64_t{7919} << (5 * i);
  return layout;
}

bool is_identity(const Graph& graph, const Item& item) {
  const auto& view = item.as<ViewOp>();
  const Shape& from = graph[item.inputs[0]].shape;
  if (view.waits() || item.shape != from) return false;
  const auto result = view.apply(probe(from));
  if (!result || result->offset != 0) return false;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1 && result->strides[i] != probe(from).strides[i]) return false;
  }
  return true;
}

Words identity_of(const Item& item) {
  const Op& op = *item.op;
  Words words{reinterpret_cast<std::uint64_t>(&typeid(op)), static_cast<std::uint64_t>(item.slot + 1), static_cast<std::uint64_t>(item.dtype)};
  op.attributes(words);
  for (auto d : item.shape) words.push_back(static_cast<std::uint64_t>(d));
  words.push_back(~std::uint64_t{0});
  for (int input : item.inputs) words.push_back(static_cast<std::uint64_t>(input));
  return words;
}

}  // namespace

void simplify(Graph& graph) {
  std::vector<int> same(graph.items.size());
  std::map<Words, int> known;
  for (int i = 0; i < graph.size(); ++i) {
    Item& item = graph[i];
    for (int& input : item.inputs) input = same[static_cast<std::size_t>(input)];
    same[static_cast<std::size_t>(i)] = i;
    if (item.role() == Role::View) {
      if (!item.as<ViewOp>().waits()) item.inputs.resize(1);
      if (is_identity(graph, item)) {
        same[static_cast<std::size_t>(i)] = item.inputs[0];
        continue;
      }
    }
    same[static_cast<std::size_t>(i)] = known.emplace(identity_of(item), i).first->second;
  }
  for (int& output : graph.outputs) output = same[static_cast<std::size_t>(output)];
  for (auto& update : graph.updates) update.item = same[static_cast<std::size_t>(update.item)];
  remove_dead(graph);
}

}  // namespace tegula::compile
