#include "tegula/models/mnist.h"

#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

template <class Layer>
Tensor through(std::optional<Layer>& layer, const Tensor& x) {
  return layer ? (*layer)(x) : x;
}

}  // namespace

Tensor MnistMlp::operator()(Tensor x) {
  x = relu(through(norm, hidden(flatten(x, 1))));  // (N, 128)
  return head(through(drop, x));
}

Tensor MnistCnn::operator()(Tensor x) {
  x = relu(through(norm1, conv1(x)));               // (N, 12, 28, 28)
  x = relu(through(norm2, conv2(x)));               // (N, 24, 14, 14)
  x = relu(through(norm3, conv3(x)));               // (N, 32, 7, 7)
  x = relu(through(norm4, dense(flatten(x, 1))));   // (N, 200)
  return head(through(drop, x));
}

Tensor LeNet5::operator()(Tensor x) {
  x = max_pool2d(relu(through(norm1, conv1(x))), 2);  // (N, 6, 14, 14)
  x = max_pool2d(relu(through(norm2, conv2(x))), 2);  // (N, 16, 5, 5)
  x = relu(dense1(flatten(x, 1)));                    // (N, 120)
  x = relu(dense2(x));                                // (N, 84)
  return head(through(drop, x));
}

}  // namespace tegula::models
