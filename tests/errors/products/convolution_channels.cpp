// expect: ^conv2d: got shapes \(2, 3, 8, 8\) and \(4, 5, 3, 3\), expected weight \(O, I/groups, …\) with I = 3 input channels
#include "tegula/ops/creation.h"
#include "tegula/ops/products/convolution.h"

void convolution_channels() {
  tegula::conv2d(tegula::ones({2, 3, 8, 8}), tegula::ones({4, 5, 3, 3}));  // here
}
