// expect: Conv2d: got an input of shape \(8, 28, 28, 3\), expected 3 channels in axis 1
// expect: hint: permute\(x, \{0, 3, 1, 2\}\): channels come ahead of the spatial axes
#include <tegula/tegula.h>

void channels_last() {
  tegula::nn::Conv2d conv{3, 8, 3};
  tegula::Tensor y = conv(tegula::zeros({8, 28, 28, 3}));  // here
}
