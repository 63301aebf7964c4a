#include "tegula/compile/description.h"

namespace tegula::compile {

runtime::CallDescription description_of(const Item& item, const LibraryOp::Setting& setting) {
  const Packed& packed = *item.packed;
  LibraryOp::Setting by_strides = setting;
  std::vector<Layout> inputs;
  if (packed.blocks) {
    inputs.assign(setting.inputs.begin(), setting.inputs.end());
    inputs[1] = Layout::dense(packed.weight);
    by_strides.inputs = inputs;
  }
  runtime::CallDescription out = item.as<LibraryOp>().describe(by_strides);
  if (auto* const product = std::get_if<runtime::Matmul>(&out)) {
    product->epilogue = *item.epilogue, product->arithmetic = item.arithmetic;
    if (packed.blocks) product->b.blocks = packed.blocks;
  } else if (auto* const convolution = std::get_if<runtime::Convolution>(&out)) {
    convolution->epilogue = *item.epilogue, convolution->arithmetic = item.arithmetic, convolution->keeps_nan = item.keeps_nan;
    if (packed.blocks) convolution->weight.blocks = packed.blocks;
  } else if (!item.epilogue->is_empty()) {
    return {};
  }
  return out;
}

runtime::CallDescription description_of(const Graph& graph, const Item& item, const runtime::Device& device) {
  const auto& op = item.as<LibraryOp>();
  std::vector<Layout> inputs;
  for (std::size_t k = 0; k < item.inputs.size(); ++k) {  // after the first two are those that the epilogue reads
    Layout lies = access_of(graph, item.inputs[k]).layout;
    lies.offset = 0;
    inputs.push_back(k > 1 || op.accepts(device, static_cast<int>(k), lies) ? lies : Layout::dense(graph[item.inputs[k]].shape));
  }
  const Layout result = layout_of(item);
  return description_of(item, {.inputs = inputs, .results = {&result, 1}, .dtype = item.dtype});
}

}  // namespace tegula::compile
