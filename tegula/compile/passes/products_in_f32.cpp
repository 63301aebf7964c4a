#include "tegula/compile/passes/products_in_f32.h"

#include <utility>

#include "tegula/compile/passes/materialize.h"
#include "tegula/runtime/operand_layout.h"

namespace tegula::compile {
namespace {

/// Sets of items, each known by one of them.
class Sets {
 public:
  explicit Sets(std::size_t count) : above_(count) {
    for (std::size_t i = 0; i < count; ++i) above_[i] = static_cast<int>(i);
  }
  int find(int i) {
    while (above(i) != i) i = above(i) = above(above(i));
    return i;
  }
  void unite(int a, int b) { above(find(a)) = find(b); }

 private:
  int& above(int i) { return above_[static_cast<std::size_t>(i)]; }
  std::vector<int> above_;
};

bool would_be_half(const Item& item) {
  const bool multiplies = item.role() == Role::Library || item.role() == Role::Kernel;
  return multiplies && item.op->numerics() == Numerics::TensorCore && item.dtype == f32 && is_half(storage_of(item.precision));
}

/// What a product may do to its result before it is stored.
bool continues_product(const Item& item) {
  using Epilogue = ElementwiseOp::Epilogue;
  if (item.role() != Role::Elementwise) return false;
  const Epilogue kind = item.as<ElementwiseOp>().epilogue();
  return kind != Epilogue::None && kind != Epilogue::Multiply && kind != Epilogue::GeluTanhGradient;
}

bool is_preferred(const Graph& graph, const Item& item, const runtime::Device& device, const runtime::PrefersTf32& prefers) {
  if (item.role() != Role::Library || item.precision == Precision::fp8) return false;
  const auto& op = item.as<LibraryOp>();
  if (!op.multiplies_matrices()) return false;
  const auto layout = [&](int k) {
    const int input = item.inputs[static_cast<std::size_t>(k)];
    Layout lies = access_of(graph, input).layout;
    lies.offset = 0;
    return op.accepts(device, k, lies) ? lies : Layout::dense(graph[input].shape);
  };
  return prefers.prefers_tf32({.dtype = f32, .a = layout(0), .b = layout(1), .c = layout_of(item)});
}

}  // namespace

bool halves_lose(const Graph& graph, const runtime::Device& device) {
  const auto* const prefers = dynamic_cast<const runtime::PrefersTf32*>(&device);
  if (!prefers) return false;
  double of_products = 0, of_convolutions = 0;
  for (const Item& item : graph.items) {
    if (!would_be_half(item) || item.role() != Role::Library || !item.results.empty()) continue;
    if (item.precision == Precision::fp8) return false;  // what is rounded to codes stays so
    const auto& op = item.as<LibraryOp>();
    std::vector<Shape> shapes;
    for (const int input : item.inputs) shapes.push_back(graph[input].shape);
    if (op.multiplies_matrices()) of_products += op.operations(shapes, item.shape);
    else if (prefers->converts_convolutions(storage_of(item.precision))) of_convolutions += op.operations(shapes, item.shape);
  }
  return of_convolutions > of_products;
}

std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device) {
  std::vector<bool> out(graph.items.size());
  const auto* const prefers = dynamic_cast<const runtime::PrefersTf32*>(&device);
  if (!prefers) return out;
  Sets sets(graph.items.size());
  bool any = false;
  std::vector<bool> stays_half(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    const bool product = would_be_half(item), passes = item.role() == Role::View || item.is_part() || continues_product(item);
    if (product) {
      const bool preferred = is_preferred(graph, item, device, *prefers);
      stays_half[static_cast<std::size_t>(i)] = !preferred;
      any = any || preferred;
    }
    if (!product && !passes) continue;
    for (const int input : item.inputs) {
      const Role role = graph[access_of(graph, input).base].role();
      if (role != Role::Leaf && role != Role::Scalar && role != Role::Index) sets.unite(i, input);  // a leaf may be read as both
    }
  }
  if (!any) return out;
  std::vector<bool> has_half(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    if (stays_half[static_cast<std::size_t>(i)]) has_half[static_cast<std::size_t>(sets.find(i))] = true;
  }
  for (int i = 0; i < graph.size(); ++i)
    out[static_cast<std::size_t>(i)] = would_be_half(graph[i]) && !has_half[static_cast<std::size_t>(sets.find(i))];
  return out;
}

}  // namespace tegula::compile
