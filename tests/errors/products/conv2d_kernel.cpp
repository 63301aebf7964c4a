// expect: ^conv2d: got shapes \(1, 1, 2, 2\) and \(1, 1, 3, 3\), expected a window that is not empty and not larger than the padded input \(padding \(0, 0\) and \(0, 0\), dilation \(1, 1\)\)
#include <tegula/tegula.h>

void conv2d_kernel() {
  using namespace tegula;
  Tensor y = conv2d(ones({1, 1, 2, 2}), ones({1, 1, 3, 3}));  // here
}
