// expect: ^conv2d: got shapes \(5, 28, 28\) and \(2, 1, 3, 3\), expected weight \(O, I/groups
// expect: hint: without a batch axis, axis 0 counts the channels
#include <tegula/tegula.h>

void conv_without_channels() {
  using namespace tegula;
  const Tensor y = conv2d(ones({5, 28, 28}), ones({2, 1, 3, 3}));  // here
}
