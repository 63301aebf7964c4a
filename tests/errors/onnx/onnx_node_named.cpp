// expect: ^matmul: got shapes \(2, 3\) and \(2, 3\), expected the inner sizes
// expect: at net\.onnx, node product
#include <tegula/onnx.h>

#include "tests/onnx/writer.h"

void onnx_node_named() {
  using namespace tegula::testing;
  const tegula::onnx::Model model(parsed(model_proto({.nodes = {{"MatMul", {"x", "w"}, {"y"}, {}, "product"}},
                                                      .inputs = {value_proto("x", {2, -1})},
                                                      .outputs = {value_proto("y", {2, 3})},
                                                      .initializers = {tensor_proto("w", {2, 3}, {1, 2, 3, 4, 5, 6})}}),
                                         "net.onnx"));
  model(tegula::ones({2, 3}));
}
