// gelu'(x) * (A · B), where the product can multiply by the derivative.

#include "tegula/compile/passes/fold/fold_gradients.h"

#include "tegula/compile/description.h"
#include "tegula/compile/passes/materialize.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

bool is_row_major(const Layout& layout) { return layout.is_dense() && layout.offset == 0; }

/// A product that nothing was folded into.
bool is_plain_product(const Item& item) {
  if (item.role() != Role::Library || !item.as<LibraryOp>().multiplies_matrices() || !item.order.empty()) return false;
  return !item.epilogue.folded();
}

bool prefers(const Graph& graph, runtime::Device& device, const Item& call) {
  for (int k = 0; k < static_cast<int>(call.inputs.size()); ++k) {
    const Access access = access_of(graph, call.inputs[static_cast<std::size_t>(k)]);
    const Role role = graph[access.base].role();
    if (role == Role::Scalar || role == Role::Index || access.layout.offset != 0) return false;  // a call wants aligned memory
    if (k < 2 && !call.as<LibraryOp>().accepts(device, k, access.layout)) return false;
  }
  return is_row_major(access_of(graph, call.inputs.back()).layout) && device.takes(description_of(graph, call, device));
}

// The call takes the place of the derivative's item, or of the reshape before it, which then comes behind the call.
void fold(Graph& graph, runtime::Device& device, const std::vector<int>& uses, int i) {
  const auto used_once = [&](int item) { return uses[static_cast<std::size_t>(item)] == 1; };
  const Item item = graph[i];
  const int x = item.inputs[0], dy = item.inputs[1];
  const bool reshaped = graph[dy].role() == Role::View;
  const int product = reshaped ? graph[dy].inputs[0] : dy, place = reshaped ? dy : i;
  if (!is_plain_product(graph[product]) || !used_once(product) || !used_once(dy) || graph[product].dtype != item.dtype) return;
  if (!is_row_major(access_of(graph, dy).layout) || numel(graph[dy].shape) != numel(graph[product].shape)) return;
  if (x >= place || graph[x].dtype != item.dtype) return;
  Item call = graph[product];
  call.inputs.push_back(x);
  call.origin = item.origin;
  call.epilogue.gradient = runtime::Activation::GeluTanh;
  if (!prefers(graph, device, call)) return;
  if (reshaped) {
    graph[i] = inserted(reshape_op(item.shape), {place}, item);
    graph[i].node = item.node;
  }
  graph[place] = std::move(call);
}

}  // namespace

void fold_gradients(Graph& graph, runtime::Device& device) {
  const std::vector<int> uses = count_uses(graph);
  for (int i = 0; i < graph.size(); ++i) {
    if (graph[i].role() == Role::Elementwise && graph[i].as<ElementwiseOp>().epilogue() == ElementwiseOp::Epilogue::GeluTanhGradient)
      fold(graph, device, uses, i);
  }
  remove_dead(graph);
}

}  // namespace tegula::compile
