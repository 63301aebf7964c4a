// expect: ^grad: got an output that depends on none of #0 \(the tensor f32\(3,\) made at .+\), expected at least one of them to be reached
// expect: hint: a module passed by value is a copy with Variables of its own; what is read from a Variable, stop_gradient and integer ops end the path
#include <tegula/tegula.h>

void grad_not_reached() {
  using namespace tegula;
  const Tensor x = ones({3}), other = ones({3}), y = sum(x);
  Tensor dx = grad(y, other);  // here
}
