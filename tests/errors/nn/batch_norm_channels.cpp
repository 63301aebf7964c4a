// expect: ^BatchNorm2d: got an input of shape \(2, 4, 5, 5\), expected 3 channels in axis 1
#include <tegula/tegula.h>

void batch_norm_channels() {
  using namespace tegula;
  nn::BatchNorm2d norm{3};
  Tensor y = norm(ones({2, 4, 5, 5}));  // here
}
