// expect: ^add: got shapes \(2, 3\) and \(4,\), expected shapes that broadcast
// expect: hint: reshape one of them
#include "tegula/ops/elementwise/arithmetic.h"

void add_shapes() {
  const tegula::Tensor a = tegula::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3}), b = tegula::tensor({1.f, 2.f, 3.f, 4.f});
  tegula::Tensor c = a + b;  // here
}
