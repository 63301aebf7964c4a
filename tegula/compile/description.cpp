#include "tegula/compile/description.h"

#include "tegula/compile/passes/materialize.h"

namespace tegula::compile {

runtime::CallDescription description_of(const LibraryOp& op, const LibraryOp::Setting& setting, const LibraryOp::Epilogue& epilogue) {
  runtime::CallDescription out = op.describe(setting);
  if (auto* const product = std::get_if<runtime::Matmul>(&out)) {
    if (epilogue.addend) return {};
    product->bias = epilogue.bias, product->activation = epilogue.activation, product->gradient = epilogue.gradient;
    product->arithmetic = epilogue.arithmetic;
  } else if (auto* const convolution = std::get_if<runtime::Convolution>(&out)) {
    if (epilogue.gradient != runtime::Activation::None) return {};
    convolution->bias = epilogue.bias, convolution->addend = epilogue.addend, convolution->activation = epilogue.activation;
    convolution->arithmetic = epilogue.arithmetic;
  } else if (epilogue.folded()) {
    return {};
  }
  return out;
}

runtime::CallDescription description_of(const Graph& graph, const Item& item, const runtime::Device& device) {
  const auto& op = item.as<LibraryOp>();
  std::vector<Layout> inputs;
  for (std::size_t k = 0; k < item.inputs.size(); ++k) {  // behind the first two is what the epilogue takes
    Layout lies = access_of(graph, item.inputs[k]).layout;
    lies.offset = 0;
    inputs.push_back(k > 1 || op.accepts(device, static_cast<int>(k), lies) ? lies : Layout::dense(graph[item.inputs[k]].shape));
  }
  const Layout result = layout_of(item);
  return description_of(op, {.inputs = inputs, .results = {&result, 1}, .dtype = item.dtype}, item.epilogue);
}

}  // namespace tegula::compile
