// expect: ^onnx::save: got the op variable, a new value of a Variable
// expect: hint: .*eval\(net\)
#include <tegula/onnx.h>

void onnx_save_in_training() {
  tegula::nn::BatchNorm1d net{3};
  const auto f = [&](const tegula::Tensor& x) {
    return net(x);  // here
  };
  tegula::onnx::save("refused.onnx", f, tegula::ones({2, 3}));
}
