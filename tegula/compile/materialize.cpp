#include <algorithm>

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
  Materializer(const Graph& from, const runtime::Device& device) : from_(from), out_(from), device_(device) { out_.items.clear(); }

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
    std::vector<int> taken;
    for (int& o : out_.outputs) taken.push_back(o = output(renumbered_[static_cast<std::size_t>(o)], taken));
    for (auto& update : out_.updates) {
      update.item = own_value(renumbered_[static_cast<std::size_t>(update.item)], taken);
      taken.push_back(update.item);
    }
    return std::move(out_);
  }

 private:
  int copy(int input, const Dims& order = {}) {
    const Item& source = out_[input];
    out_.items.push_back({.op = copy_op(),
                          .inputs = {input},
                          .shape = source.shape,
                          .dtype = source.dtype,
                          .origin = source.origin,
                          .epilogue = {},
                          .order = order});
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
      const bool is_bias = item.epilogue.bias && k == 2, is_addend = item.epilogue.addend && k + 1 == item.inputs.size();
      const bool fits = is_bias     ? layout(input).is_dense()
                        : is_addend ? lies_as(layout(input), layout_of(item))
                                    : item.as<LibraryOp>().accepts(device_, static_cast<int>(k), layout(input));
      if (!is_memory(input) || !fits) input = copy(input, is_addend ? item.order : Dims{});
    }
  }

  // Axes of size 1 have no say.
  static bool lies_as(const Layout& a, const Layout& b) {
    for (int i = 0; i < a.shape.rank(); ++i) {
      if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
    }
    return true;
  }

  bool is_computed(int item) const {
    const Role role = out_[item].role();
    return role == Role::Elementwise || role == Role::Reduce || role == Role::Library || role == Role::Kernel;
  }

  // An output or update must be a computed row-major value that no other one claims.
  int own_value(int item, const std::vector<int>& taken) {
    const bool ok = is_computed(item) && out_[item].order.empty() && std::find(taken.begin(), taken.end(), item) == taken.end();
    return ok ? item : copy(item);
  }

  // A view that puts all of a computed value into row-major order (channels-last results permuted so) needs no copy: the value is the output.
  int output(int item, const std::vector<int>& taken) {
    const Access access = access_of(out_, item);
    const bool whole =
        access.layout.is_dense() && access.layout.offset == 0 && numel(access.layout.shape) == numel(out_[access.base].shape);
    if (out_[item].role() != Role::View || !whole || !is_computed(access.base)) return own_value(item, taken);
    return std::find(taken.begin(), taken.end(), access.base) == taken.end() ? access.base : copy(item);
  }

  const Graph& from_;
  Graph out_;
  const runtime::Device& device_;
  std::vector<int> renumbered_;
};

}  // namespace

void materialize(Graph& graph, const runtime::Device& device) { graph = Materializer(graph, device).run(); }

}  // namespace tegula::compile
