// expect: ^conv2d: got dtypes u8 and f32, expected float tensors
// expect: hint: cast\(x, f32\)
#include <tegula/tegula.h>

void bytes_into_conv() {
  using namespace tegula;
  const Tensor y = conv2d(zeros({1, 1, 4, 4}, u8), ones({2, 1, 3, 3}));  // here
}
