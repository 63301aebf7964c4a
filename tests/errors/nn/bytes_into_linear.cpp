// expect: Linear: got an input of dtype u8
// expect: hint: .*cast
#include <tegula/tegula.h>

void bytes_into_linear() {
  tegula::nn::Linear linear{3, 2};
  tegula::Tensor y = linear(tegula::zeros({4, 3}, tegula::u8));  // here
}
