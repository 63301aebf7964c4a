// expect: ^stack: got shapes \(2, 3\) and \(3, 2\), expected equal shapes
// expect: hint: concat\(\) joins along an axis that is there
#include <tegula/tegula.h>

void stack_shapes() {
  using namespace tegula;
  const Tensor x = zeros({2, 3}), y = zeros({3, 2});
  Tensor z = stack({x, y});  // here
}
