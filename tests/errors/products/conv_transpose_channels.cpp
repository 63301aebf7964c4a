// expect: ^conv_transpose2d: got shapes \(1, 3, 8, 8\) and \(4, 2, 3, 3\), expected weight \(I, O/groups, …\) with I = 3 input channels, divisible by groups = 1
#include <tegula/tegula.h>

void conv_transpose_channels() {
  using namespace tegula;
  Tensor y = conv_transpose2d(ones({1, 3, 8, 8}), ones({4, 2, 3, 3}));  // here
}
