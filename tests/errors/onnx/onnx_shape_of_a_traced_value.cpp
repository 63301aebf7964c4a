// expect: ^Reshape: got input 1 \(to\), which depends on values, expected one that is known when the function is traced
// expect: at net\.onnx, node flat
// expect: hint: call the model without jit
#include <tegula/onnx.h>

#include "tests/onnx/writer.h"

void onnx_shape_of_a_traced_value() {
  using namespace tegula;
  using namespace tegula::testing;
  const onnx::Model model(parsed(model_proto({.nodes = {{"Reshape", {"x", "to"}, {"y"}, {}, "flat"}},
                                              .inputs = {value_proto("x", {2, 3}), value_proto("to", {1}, 7)},
                                              .outputs = {value_proto("y", {-1})}}),
                                 "net.onnx"));
  auto f = jit([&](Tensor x, Tensor to) { return model({x, to})[0]; });
  f(ones({2, 3}), tensor({std::int64_t{6}}));
}
