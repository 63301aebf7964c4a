#include "tegula/compile/passes/fold/fold.h"

#include <optional>

#include "tegula/compile/description.h"
#include "tegula/compile/users.h"

namespace tegula::compile {

std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result) {
  const Access access = access_of(graph, item);
  const Shape& shape = graph[item].shape;
  const Item& base = graph[access.base];
  if (axis < 0 || shape != result) return std::nullopt;
  if (base.shape.rank() != 1 || base.shape[0] != shape[axis] || access.layout.offset != 0) return std::nullopt;
  if (!base.in_memory() || base.shows_input()) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t wanted = i == axis ? 1 : 0;
    if (shape[i] != 1 && access.layout.strides[i] != wanted) return std::nullopt;
  }
  if (base.role() == Role::Leaf && !graph.leaf(base).layout.is_dense()) return std::nullopt;
  return access.base;
}

namespace {

using ValueSource = runtime::Expression::Source;

class Folder {
 public:
  Folder(Graph& graph, const runtime::Device& device, bool answers) : graph_(graph), device_(device), answers_(answers), users_(graph) {}

  void run() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (graph_[i].role() != Role::Elementwise) continue;
      for (std::size_t k = 0; k < graph_[i].inputs.size(); ++k)
        if (fold(i, k)) break;
    }
    remove_dead(graph_);
  }

 private:
  /// Puts item i, which reads a call as input k, into the call's epilogue. The call takes the place of the item, so that its number (and all who use it)
  /// stay valid; with views between the two, the place of the first view, and each view that of what follows it.
  bool fold(int i, std::size_t k) {
    const Item& item = graph_[i];
    std::vector<int> places{i};  // the item's, then those of the views from the last to the first
    int producer = item.inputs[k];
    for (; graph_[producer].role() == Role::View; producer = graph_[producer].inputs[0]) {
      if (!users_.once(producer) || numel(graph_[producer].shape) != numel(graph_[graph_[producer].inputs[0]].shape)) return false;
      places.push_back(producer);
    }
    const Item& call = graph_[producer];
    const bool fits = call.role() == Role::Library && call.results.empty() && call.as<LibraryOp>().bias_axis() >= 0 &&
                      call.dtype == item.dtype && users_.once(producer);
    if (!fits) return false;
    std::optional<Item> merged = with_epilogue(call, item, k, places.back(), item.inputs[k]);
    if (!merged) return false;
    for (std::size_t at = 0; at + 1 < places.size(); ++at) {
      Item& place = graph_[places[at]];
      const Item& view = graph_[places[at + 1]];
      place.op = view.op, place.shape = view.shape, place.inputs = {places[at + 1]};
    }
    graph_[places.back()] = std::move(*merged);
    return true;
  }

  /// The call with the item in its epilogue, if it can stand at `place` and the device takes it. `value`: what the item reads of the call, perhaps through views.
  std::optional<Item> with_epilogue(const Item& call, const Item& item, std::size_t k, int place, int value) const {
    const bool direct = graph_[value].role() == Role::Library;
    Item merged = call;
    merged.origin = item.origin;
    merged.keeps_nan = call.keeps_nan && !answers_;
    runtime::Expression& epilogue = merged.epilogue.edit();
    const int result = epilogue.is_empty() ? 0 : static_cast<int>(epilogue.values.size()) - 1;
    if (epilogue.is_empty()) epilogue.values.push_back({.source = ValueSource::Result});
    std::vector<int> operands;
    for (std::size_t j = 0; j < item.inputs.size(); ++j) {
      if (j == k) {
        operands.push_back(result);
        continue;
      }
      int input = item.inputs[j];
      const std::optional<ValueSource> source = direct ? source_of(call, input) : beside_view(call, value, input);
      if (!source || input >= place) return std::nullopt;
      operands.push_back(epilogue.read(*source));
      merged.inputs.push_back(input);
    }
    if (!append(epilogue, item.as<ElementwiseOp>(), item.dtype, operands)) return std::nullopt;
    if (!device_.takes(description_of(graph_, merged, device_))) return std::nullopt;
    return merged;
  }

  /// How an epilogue of the call may read the item; a vector by channel is then the item below its views.
  std::optional<ValueSource> source_of(const Item& call, int& item) const {
    const Item& read = graph_[item];
    if (read.dtype != call.dtype) return std::nullopt;
    if (read.role() == Role::Scalar && read.shape.rank() == 0) return ValueSource::Number;
    if (const auto vector = channel_vector(graph_, item, call.as<LibraryOp>().bias_axis(), call.shape)) {
      if (graph_[*vector].dtype != call.dtype) return std::nullopt;
      item = *vector;
      return ValueSource::Channel;
    }
    const Item& base = graph_[access_of(graph_, item).base];
    const bool in_memory = base.in_memory() && base.dtype == call.dtype;
    const bool whole = read.shape == call.shape && numel(base.shape) == numel(call.shape);
    if (!in_memory || !whole) return std::nullopt;
    return !call.as<LibraryOp>().multiplies_matrices() || lies_in_rows(call, item, item) ? std::optional(ValueSource::Tensor)
                                                                                         : std::nullopt;
  }

  /// The same for an item of the shape of a view of the call: the elements of both are counted in one order.
  std::optional<ValueSource> beside_view(const Item& call, int view, int item) const {
    const bool in_memory = graph_[access_of(graph_, item).base].in_memory() && graph_[item].dtype == call.dtype;
    if (!in_memory || !call.as<LibraryOp>().multiplies_matrices() || graph_[item].shape != graph_[view].shape) return std::nullopt;
    return lies_in_rows(call, view, item) ? std::optional(ValueSource::Tensor) : std::nullopt;
  }

  /// True if the call's result, its view and the item are row-major and need no copy: a product reads aligned memory beside its result.
  bool lies_in_rows(const Item& call, int view, int item) const {
    const auto in_rows = [&](int i) {
      const Layout layout = access_of(graph_, i).layout;
      return layout.is_dense() && layout.offset == 0;
    };
    for (std::size_t k = 0; k < 2; ++k) {
      const Layout layout = access_of(graph_, call.inputs[k]).layout;
      if (layout.offset != 0 || !call.as<LibraryOp>().accepts(device_, static_cast<int>(k), layout)) return false;
    }
    return call.order.empty() && in_rows(view) && in_rows(item);
  }

  Graph& graph_;
  const runtime::Device& device_;
  bool answers_;
  Users users_;  // of the graph as it was: what an epilogue reads is read as often as before
};

}  // namespace

void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers) { Folder(graph, device, answers).run(); }

}  // namespace tegula::compile
