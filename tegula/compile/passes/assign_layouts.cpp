#include "tegula/compile/passes/layouts.h"

#include <optional>
#include <unordered_map>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/core/memory_rows.h"

namespace tegula::compile {
namespace {

Dims channels_last_order(int rank) {
  Dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

// False if both orders give the same layout (one channel, or one pixel).
bool order_matters(const Shape& shape) {
  if (shape.rank() < 3) return false;
  std::int64_t pixels = 1;
  for (int i = 2; i < shape.rank(); ++i) pixels *= shape[i];
  return shape[1] > 1 && pixels > 1;
}

bool lies_channels_last(const Graph& graph, int item) {
  return same_strides(access_of(graph, item).layout, Layout::channels_last(graph[item].shape).strides);
}

// True if the axes that a reduction leaves have the channels innermost in memory.
bool leaves_channels_last(const Graph& graph, const Item& item) {
  const Layout seen = access_of(graph, item.inputs[0]).layout;
  const Dims& reduced = item.as<ReduceOp>().axes();
  std::vector<std::int64_t> left;
  for (int i = 0; i < seen.shape.rank(); ++i) {
    if (!reduced.contains(i)) left.push_back(seen.strides[i]);
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (i != 1 && item.shape[static_cast<int>(i)] != 1 && left[i] < item.shape[1] * left[1]) return false;
  }
  return left[1] == 1;
}

class Layouts {
 public:
  Layouts(const Graph& graph, runtime::Device& device) : device_(device), users_(graph) {}

  /// Gives the item its memory order, where `out` has what it reads. An operand that a call wants channels-last is what `converted(item, operand)` says; false where that
  /// says nothing.
  template <class Converted>
  bool assign(const Graph& out, int i, Item& item, Converted converted) const {
    if (item.role() == Role::Library) return assign_call(out, item, converted);
    if (item.is_part()) {  // what has the shape of the first result lies as that does
      const Item& whole = out[item.inputs[0]];
      if (whole.shape == item.shape) item.order = whole.order;
    } else if (item.role() == Role::Reduce && order_matters(item.shape) && !users_.leaves(i)) {
      if (leaves_channels_last(out, item)) item.order = channels_last_order(item.shape.rank());
    } else if (order_matters(item.shape) && !users_.leaves(i)) {
      const bool joins = item.join() != nullptr;
      for (int input : item.inputs) {
        const bool counts = joins ? order_matters(out[input].shape) : item.role() == Role::Elementwise && out[input].shape == item.shape;
        if (counts && lies_channels_last(out, input)) item.order = channels_last_order(item.shape.rank());
      }
    }
    return true;
  }

 private:
  template <class Converted>
  bool assign_call(const Graph& out, Item& item, Converted converted) const {
    std::vector<Layout> layouts;
    layouts.reserve(item.inputs.size());
    for (int input : item.inputs) layouts.push_back(access_of(out, input).layout);
    std::uint32_t mask = item.as<LibraryOp>().channels_last(device_, layouts, item.shape, item.dtype);
    for (std::size_t k = 0; mask >> 31 && !item.epilogue->is_empty() && k < item.inputs.size(); ++k)
      if (read_by_epilogue(item, k) == runtime::Expression::Source::Tensor) mask |= 1u << k;
    for (std::size_t k = 0; mask != 0 && k < item.inputs.size(); ++k) {
      int& input = item.inputs[k];
      if (!(mask >> k & 1u) || !order_matters(out[input].shape) || lies_channels_last(out, input)) continue;
      const std::optional<int> copy = converted(item, input);
      if (!copy) return false;
      input = *copy;
    }
    if ((mask >> 31) && order_matters(item.shape)) item.order = channels_last_order(item.shape.rank());
    return true;
  }

  runtime::Device& device_;
  Users users_;  // a value that leaves is row-major
};

/// False at the first operand that has to be copied.
bool assign_in_place(Graph& graph, const Layouts& layouts) {
  for (int i = 0; i < graph.size(); ++i)
    if (!layouts.assign(graph, i, graph[i], [](const Item&, int) { return std::optional<int>(); })) return false;
  return true;
}

}  // namespace

void assign_layouts(Graph& graph, runtime::Device& device) {
  const Layouts layouts(graph, device);
  if (assign_in_place(graph, layouts)) return;
  Rewriter rewriter(graph);  // copies are inserted before the calls that want them
  const Graph& out = rewriter.out();
  std::unordered_map<int, int> converted;  // item -> its channels-last copy
  rewriter.each([&](int i, Item& item) {
    layouts.assign(out, i, item, [&](const Item& call, int input) -> std::optional<int> {
      const auto [known, is_new] = converted.try_emplace(input);
      if (is_new) {
        Item copy = inserted(copy_op(), {input}, out[input]);
        copy.origin = call.origin;
        copy.order = channels_last_order(copy.shape.rank());
        known->second = rewriter.add(std::move(copy));
      }
      return known->second;
    });
  });
  graph = rewriter.finish();
}

}  // namespace tegula::compile
