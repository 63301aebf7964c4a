// expect: ^conv2d: got a bias of shape \(3,\), expected one element for each of the 4 output channels
#include <tegula/tegula.h>

void conv2d_bias() {
  using namespace tegula;
  Tensor y = conv2d(ones({1, 3, 8, 8}), ones({4, 3, 3, 3}), ones({3}));  // here
}
