// expect: ^grad: got an output of dtype i64, expected a float dtype
#include <tegula/tegula.h>

void grad_of_integers() {
  using namespace tegula;
  const Tensor x = ones({3}), y = sum(x > 0);
  Tensor dx = grad(y, x);  // here
}
