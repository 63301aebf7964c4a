// expect: ^prelu: got a slope of shape \(4,\) for an input of shape \(1, 3\)
// expect: one for each of the 3 channels
#include "tegula/ops/elementwise/activation.h"

void prelu_channels() {
  const tegula::Tensor x = tegula::tensor({1.f, 2.f, 3.f}, {1, 3}), slope = tegula::tensor({1.f, 2.f, 3.f, 4.f});
  tegula::Tensor c = tegula::prelu(x, slope);  // here
}
