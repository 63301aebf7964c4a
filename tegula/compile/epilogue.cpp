#include <optional>

#include "tegula/compile/passes.h"

namespace tegula::compile {
namespace {

using Kind = ElementwiseOp::Epilogue;

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.items.size());
  for (const Item& item : graph.items) {
    for (int input : item.inputs) uses[static_cast<std::size_t>(input)]++;
  }
  for (int output : graph.outputs) uses[static_cast<std::size_t>(output)]++;
  for (const auto& update : graph.updates) uses[static_cast<std::size_t>(update.item)]++;
  return uses;
}

std::uint8_t activation_of(Kind kind) {
  using runtime::Activation;
  switch (kind) {
    case Kind::Relu: return static_cast<std::uint8_t>(Activation::Relu);
    case Kind::Gelu: return static_cast<std::uint8_t>(Activation::Gelu);
    case Kind::GeluTanh: return static_cast<std::uint8_t>(Activation::GeluTanh);
    case Kind::Sigmoid: return static_cast<std::uint8_t>(Activation::Sigmoid);
    case Kind::Tanh: return static_cast<std::uint8_t>(Activation::Tanh);
    default: return 0;
  }
}

// The vector (size of `axis`) behind an addend that varies along that axis only.
std::optional<int> bias_behind(const Graph& graph, int addend, int axis, const Item& result) {
  const Access access = access_of(graph, addend);
  const Shape& shape = graph[addend].shape;
  const Item& base = graph[access.base];
  if (axis < 0 || shape != result.shape || base.dtype != result.dtype) return std::nullopt;
  if (base.shape.rank() != 1 || base.shape[0] != shape[axis] || access.layout.offset != 0) return std::nullopt;
  if (base.role() == Role::Scalar || base.role() == Role::Index) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t wanted = i == axis ? 1 : 0;
    if (shape[i] != 1 && access.layout.strides[i] != wanted) return std::nullopt;
  }
  if (base.role() == Role::Leaf && !graph.leaves[static_cast<std::size_t>(base.slot)].layout.is_dense()) return std::nullopt;
  return access.base;
}

}  // namespace

// The sum or activation takes the library item's place, so that its number (and all who use it) stay valid.
void fold_epilogues(Graph& graph, const runtime::Device& device) {
  const std::vector<int> uses = count_uses(graph);
  for (int i = 0; i < graph.size(); ++i) {
    Item& item = graph[i];
    if (item.role() != Role::Elementwise) continue;
    const Kind kind = item.as<ElementwiseOp>().epilogue();
    if (kind == Kind::None) continue;
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      const int producer = item.inputs[k];
      const Item& library = graph[producer];
      if (library.role() != Role::Library || library.epilogue.activation != 0 || library.dtype != item.dtype) continue;
      if (uses[static_cast<std::size_t>(producer)] != 1) continue;
      Item merged = library;
      merged.origin = item.origin;
      if (kind == Kind::Add) {
        if (library.epilogue.bias || item.inputs.size() != 2) continue;
        const auto bias = bias_behind(graph, item.inputs[1 - k], library.as<LibraryOp>().bias_axis(), library);
        if (!bias) continue;
        merged.inputs.push_back(*bias);
        merged.epilogue.bias = true;
      } else {
        const std::uint8_t activation = activation_of(kind);
        if (!library.as<LibraryOp>().accepts_activation(activation)) continue;
        if (!device.fuses(library.dtype, static_cast<runtime::Activation>(activation))) continue;
        merged.epilogue.activation = activation;
      }
      graph[i] = std::move(merged);
      break;
    }
  }
  remove_dead(graph);
}

}  // namespace tegula::compile
