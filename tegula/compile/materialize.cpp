#include "tegula/compile/passes.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {

Access access_of(const Graph& graph, int item) {
  std::vector<int> views;
  while (graph[item].role() == Role::View) {
    views.push_back(item);
    item = graph[item].inputs[0];
  }
  const Item& base = graph[item];
  Layout layout = layout_of(base);
  if (base.role() == Role::Leaf) layout = graph.leaves[static_cast<std::size_t>(base.slot)].layout;
  if (base.role() == Role::Index) layout = base.as<IndexOp>().layout();
  for (auto it = views.rbegin(); it != views.rend(); ++it) {
    auto next = graph[*it].as<ViewOp>().apply(layout);
    // Before materialize a view may not be expressible yet; a dense layout stands for the copy it will get.
    layout = next ? *next : *graph[*it].as<ViewOp>().apply(Layout::dense(layout.shape));
  }
  return {item, layout};
}

namespace {

class Materializer {
 public:
  explicit Materializer(const Graph& from) : from_(from), out_(from) { out_.items.clear(); }

  Graph run() {
    renumbered_.resize(from_.items.size());
    for (int i = 0; i < from_.size(); ++i) {
      Item item = from_[i];
      for (int& input : item.inputs) input = renumbered_[static_cast<std::size_t>(input)];
      if (item.role() == Role::View) fix_view(item);
      if (item.role() == Role::Kernel) fix_kernel(item);
      if (item.role() == Role::Library) fix_library(item);
      renumbered_[static_cast<std::size_t>(i)] = out_.size();
      out_.items.push_back(std::move(item));
    }
    for (int& output : out_.outputs) output = own_value(renumbered_[static_cast<std::size_t>(output)], {});
    std::vector<int> taken = out_.outputs;
    for (auto& update : out_.updates) {
      update.item = own_value(renumbered_[static_cast<std::size_t>(update.item)], taken);
      taken.push_back(update.item);
    }
    return std::move(out_);
  }

 private:
  int copy(int input) {
    const Item& source = out_[input];
    out_.items.push_back({.op = copy_op(), .inputs = {input}, .shape = source.shape, .dtype = source.dtype, .origin = source.origin, .epilogue = {}, .order = {}});
    return out_.size() - 1;
  }

  Layout layout(int item) const { return access_of(out_, item).layout; }

  void fix_view(Item& item) {
    if (!item.as<ViewOp>().apply(layout(item.inputs[0]))) item.inputs[0] = copy(item.inputs[0]);
  }

  bool is_memory(int item) const {
    const Role role = out_[access_of(out_, item).base].role();
    return role != Role::Scalar && role != Role::Index;
  }

  void fix_kernel(Item& item) {
    for (int& input : item.inputs) {
      const Layout at = layout(input);
      if (!is_memory(input) || !at.is_dense()) input = copy(input);
    }
  }

  void fix_library(Item& item) {
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      int& input = item.inputs[k];
      const bool is_bias = item.epilogue.bias && k + 1 == item.inputs.size();
      const bool fits = is_bias ? layout(input).is_dense() : item.as<LibraryOp>().accepts(static_cast<int>(k), layout(input));
      if (!is_memory(input) || !fits) input = copy(input);
    }
  }

  // An output must be a computed row-major value that no other output or update claims.
  int own_value(int item, const std::vector<int>& taken) {
    const Role role = out_[item].role();
    bool ok = (role == Role::Elementwise || role == Role::Reduce || role == Role::Library || role == Role::Kernel) && out_[item].order.empty();
    for (int other : taken) ok = ok && other != item;
    return ok ? item : copy(item);
  }

  const Graph& from_;
  Graph out_;
  std::vector<int> renumbered_;
};

}  // namespace

void materialize(Graph& graph) { graph = Materializer(graph).run(); }

}  // namespace tegula::compile
