#include <algorithm>

#include "tegula/compile/passes.h"
#include "tegula/compile/rewriter.h"
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
  Materializer(const Graph& from, const runtime::Device& device) : rewriter_(from), device_(device) {}

  Graph run() {
    rewriter_.each([this](int, Item& item) {
      if (item.role() == Role::View) fix_view(item);
      if (item.role() == Role::Kernel) fix_kernel(item);
      if (item.role() == Role::Library) fix_library(item);
    });
    std::vector<int> taken;
    const auto take = [&](int item) {
      taken.push_back(item);
      return item;
    };
    return rewriter_.finish([&](int i) { return take(output(rewriter_.now(i), taken)); },
                            [&](int i) { return take(own_value(rewriter_.now(i), taken)); });
  }

 private:
  const Graph& out() const { return rewriter_.out(); }

  int copy(int input, const Dims& order = {}) {
    Item item = inserted(copy_op(), {input}, out()[input]);
    item.order = order;
    return rewriter_.add(std::move(item));
  }

  Layout layout(int item) const { return access_of(out(), item).layout; }

  void fix_view(Item& item) {
    if (!item.as<ViewOp>().apply(layout(item.inputs[0]))) item.inputs[0] = copy(item.inputs[0]);
  }

  bool is_memory(int item) const {
    const Role role = out()[access_of(out(), item).base].role();
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
      const bool is_last = k + 1 == item.inputs.size(), is_bias = item.epilogue.bias && k == 2, is_addend = item.epilogue.addend && is_last;
      const bool is_factor = item.epilogue.gradient != 0 && is_last;  // whatever its shape
      const bool fits = is_bias     ? layout(input).is_dense()
                        : is_addend ? lies_as(layout(input), layout_of(item))
                        : is_factor ? lies_as(layout(input), Layout::dense(layout(input).shape))
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
    const Role role = out()[item].role();
    return role == Role::Elementwise || role == Role::Reduce || role == Role::Library || role == Role::Kernel;
  }

  // An output or update must be a computed row-major value that no other one claims.
  int own_value(int item, const std::vector<int>& taken) {
    const bool ok = is_computed(item) && out()[item].order.empty() && std::find(taken.begin(), taken.end(), item) == taken.end();
    return ok ? item : copy(item);
  }

  // A view that puts all of a computed value into row-major order (channels-last results permuted so) needs no copy: the value is the output.
  int output(int item, const std::vector<int>& taken) {
    const Access access = access_of(out(), item);
    const bool whole =
        access.layout.is_dense() && access.layout.offset == 0 && numel(access.layout.shape) == numel(out()[access.base].shape);
    if (out()[item].role() != Role::View || !whole || !is_computed(access.base)) return own_value(item, taken);
    return std::find(taken.begin(), taken.end(), access.base) == taken.end() ? access.base : copy(item);
  }

  Rewriter rewriter_;
  const runtime::Device& device_;
};

}  // namespace

void materialize(Graph& graph, const runtime::Device& device) { graph = Materializer(graph, device).run(); }

}  // namespace tegula::compile
