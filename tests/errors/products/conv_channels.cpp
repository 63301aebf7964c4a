// expect: ^conv2d: got
// expect: \(1, 3, 8, 8\)
// expect: \(4, 1, 3, 3\)
#include <tegula/tegula.h>

void conv_channels() {
  using namespace tegula;
  nn::Conv2d conv{1, 4, 3};
  Tensor y = conv(ones({1, 3, 8, 8}));  // here
}
