// expect: ^grad: got a tensor of dtype i64 to differentiate with respect to, expected a float dtype
#include <tegula/tegula.h>

void grad_for_integers() {
  using namespace tegula;
  const Tensor x = ones({3}, i64), y = sum(x * 1.5);
  Tensor dx = grad(y, x);  // here
}
