// expect: ^grad: got an output of shape \(3,\), expected a scalar
// expect: hint: reduce it with sum or mean, or use vjp
#include <tegula/tegula.h>

void grad_of_many() {
  using namespace tegula;
  const Tensor x = ones({3}), y = x * 2;
  Tensor dx = grad(y, x);  // here
}
