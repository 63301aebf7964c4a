// expect: ^Conv2d: got an input of shape \(1, 3, 8, 8\), expected 1 channels in axis 1
#include <tegula/tegula.h>

void conv_channels() {
  using namespace tegula;
  nn::Conv2d conv{1, 4, 3};
  Tensor y = conv(ones({1, 3, 8, 8}));  // here
}
