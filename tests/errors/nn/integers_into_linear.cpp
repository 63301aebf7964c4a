// expect: Linear: got an input of dtype i64
// expect: hint: .*cast
#include <tegula/tegula.h>

void integers_into_linear() {
  tegula::nn::Linear linear{3, 2};
  tegula::Tensor y = linear(tegula::zeros({4, 3}, tegula::i64));  // here
}
