// expect: ^jacobian: got an output of shape \(1, 1, 1, 1, 1\) by a tensor of shape \(1, 1, 1, 1\), expected at most 8 axes together
#include <tegula/tegula.h>

void jacobian_axes() {
  using namespace tegula;
  const Tensor x = ones({1, 1, 1, 1});
  jacobian(reshape(x * x, {1, 1, 1, 1, 1}), x);  // here
}
