// expect: ^onnx::save: got the op lgamma, whose formula has the word lgamma of f32, expected ops that ONNX has an operator for
#include <tegula/onnx.h>

void onnx_save_no_operator() {
  const auto f = [](const tegula::Tensor& x) {
    return tegula::lgamma(x);  // here
  };
  tegula::onnx::save("refused.onnx", f, tegula::ones({2, 3}));
}
