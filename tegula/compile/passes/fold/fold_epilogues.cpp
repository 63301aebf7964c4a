#include "tegula/compile/passes/fold/fold_epilogues.h"

#include <optional>

#include "tegula/compile/description.h"
#include "tegula/compile/folded_call.h"
#include "tegula/compile/passes/materialize.h"

namespace tegula::compile {
namespace {

using runtime::Activation;
using Kind = ElementwiseOp::Epilogue;

Activation activation_of(Kind kind) {
  switch (kind) {
    case Kind::Relu: return Activation::Relu;
    case Kind::Gelu: return Activation::Gelu;
    case Kind::GeluTanh: return Activation::GeluTanh;
    case Kind::Sigmoid: return Activation::Sigmoid;
    case Kind::Tanh: return Activation::Tanh;
    default: return Activation::None;
  }
}

// True if the device supports the call with its epilogue.
bool takes(const Graph& graph, const Item& call, const runtime::Device& device) {
  return call.as<LibraryOp>().bias_axis() >= 0 && device.takes(description_of(graph, call, device));
}

// True if the addend lies in memory with the result's dtype and size, so that a call can add it.
bool is_addend(const Graph& graph, int addend, const Item& result) {
  const Item& base = graph[access_of(graph, addend).base];
  if (base.role() == Role::Scalar || base.role() == Role::Index || base.dtype != result.dtype) return false;
  return graph[addend].shape == result.shape && numel(base.shape) == numel(result.shape);
}

}  // namespace

std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result) {
  const Access access = access_of(graph, item);
  const Shape& shape = graph[item].shape;
  const Item& base = graph[access.base];
  if (axis < 0 || shape != result) return std::nullopt;
  if (base.shape.rank() != 1 || base.shape[0] != shape[axis] || access.layout.offset != 0) return std::nullopt;
  if (base.role() == Role::Scalar || base.role() == Role::Index || base.shows_input()) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t wanted = i == axis ? 1 : 0;
    if (shape[i] != 1 && access.layout.strides[i] != wanted) return std::nullopt;
  }
  if (base.role() == Role::Leaf && !graph.leaves[static_cast<std::size_t>(base.slot)].layout.is_dense()) return std::nullopt;
  return access.base;
}

namespace {

// A call into which something is put.
Item merged_call(const Graph& graph, const Item& call, const Item& last, const runtime::Device& device, bool answers) {
  Item merged = call;
  merged.origin = last.origin;
  if (!answers) return merged;
  const runtime::CallDescription description = description_of(graph, call, device);
  const auto* const convolution = std::get_if<runtime::Convolution>(&description);
  if (convolution && convolution->keeps_nan) merged.op = folded_call(merged.op, {.keeps_nan = false});
  return merged;
}

// Limits, and what else is a chain of words with numbers: the call has it.
bool fold_numbers(Graph& graph, int i, const std::vector<int>& uses, const runtime::Device& device) {
  const Item& item = graph[i];
  if (item.inputs.size() < 2) return false;
  const int producer = item.inputs[0];
  const Item& call = graph[producer];
  const bool fits = call.role() == Role::Library && call.results.empty() && call.dtype == item.dtype && call.shape == item.shape &&
                    uses[static_cast<std::size_t>(producer)] == 1 && call.as<LibraryOp>().bias_axis() >= 0;
  if (!fits) return false;
  const Expression expression = expression_behind(graph, item, producer);
  auto behind = expression.is_empty() ? std::nullopt : behind_call(expression);
  if (!behind) return false;
  Item merged = merged_call(graph, call, item, device, true);
  merged.op = folded_call(merged.op, {.behind = *std::move(behind)});
  const auto end = merged.inputs.end() - (call.epilogue.addend ? 1 : 0);
  merged.inputs.insert(end, item.inputs.begin() + 1, item.inputs.end());
  if (!device.takes(description_of(graph, merged, device))) return false;
  graph[i] = std::move(merged);
  return true;
}

// An activation of views of a call that nothing else reads: the call has it, and the item is the last of the views.
bool fold_below_views(Graph& graph, int i, const std::vector<int>& uses, const runtime::Device& device, bool answers) {
  const Item& item = graph[i];
  const Activation activation = activation_of(item.as<ElementwiseOp>().epilogue());
  if (activation == Activation::None || item.inputs.size() != 1 || graph[item.inputs[0]].role() != Role::View) return false;
  int producer = item.inputs[0];
  for (; graph[producer].role() == Role::View; producer = graph[producer].inputs[0]) {
    const bool adds = numel(graph[producer].shape) != numel(graph[graph[producer].inputs[0]].shape);
    if (uses[static_cast<std::size_t>(producer)] != 1 || adds) return false;
  }
  const Item& library = graph[producer];
  const bool fits = library.role() == Role::Library && library.results.empty() && library.epilogue.activation == Activation::None &&
                    library.dtype == item.dtype && uses[static_cast<std::size_t>(producer)] == 1;
  if (!fits) return false;
  Item merged = merged_call(graph, library, item, device, answers);
  merged.epilogue.activation = activation;
  if (!takes(graph, merged, device)) return false;
  graph[producer] = std::move(merged);
  const Item& view = graph[item.inputs[0]];
  graph[i].op = view.op, graph[i].inputs = view.inputs;
  return true;
}

}  // namespace

// The sum or activation takes the library item's place, so that its number (and all who use it) stay valid.
void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers) {
  const std::vector<int> uses = count_uses(graph);
  for (int i = 0; i < graph.size(); ++i) {
    Item& item = graph[i];
    if (item.role() != Role::Elementwise) continue;
    if (answers && fold_numbers(graph, i, uses, device)) continue;
    const Kind kind = item.as<ElementwiseOp>().epilogue();
    if (kind == Kind::None || kind == Kind::Multiply || kind == Kind::GeluTanhGradient) continue;
    if (fold_below_views(graph, i, uses, device, answers)) continue;
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      const int producer = item.inputs[k];
      const Item& library = graph[producer];
      if (library.role() != Role::Library || library.epilogue.activation != Activation::None || library.dtype != item.dtype) continue;
      if (uses[static_cast<std::size_t>(producer)] != 1) continue;
      Item merged = merged_call(graph, library, item, device, answers);
      if (kind == Kind::Add) {
        if (item.inputs.size() != 2) continue;
        const int other = item.inputs[1 - k];
        const auto bias = channel_vector(graph, other, library.as<LibraryOp>().bias_axis(), library.shape);
        if (bias && !library.epilogue.bias && graph[*bias].dtype == library.dtype) {
          merged.inputs.insert(merged.inputs.begin() + 2, *bias);
          merged.epilogue.bias = true;
        } else if (!library.epilogue.addend && is_addend(graph, other, library)) {
          merged.inputs.push_back(other);
          merged.epilogue.addend = true;
          if (!takes(graph, merged, device)) continue;
        } else {
          continue;
        }
      } else {
        merged.epilogue.activation = activation_of(kind);
        if (!takes(graph, merged, device)) continue;
      }
      graph[i] = std::move(merged);
      break;
    }
  }
  remove_dead(graph);
}

}  // namespace tegula::compile
