// expect: ^bitwise_and: got operands of dtype f32, expected integers or booleans
// expect: hint: bits of floats
#include "tegula/ops/elementwise/logic.h"

void bitwise_dtype() {
  const tegula::Tensor a = tegula::tensor({1.f, 2.f});
  tegula::Tensor c = a & 3;  // here
}
