// expect: ^assign: got a value of shape \(3, 2\), expected the Variable's shape \(2, 3\)
// expect: hint: a Variable never changes its shape; make a new one
#include <tegula/tegula.h>

void assigned_shape() {
  using namespace tegula;
  Variable v = zeros({2, 3});
  v.assign(ones({3, 2}));  // here
}
