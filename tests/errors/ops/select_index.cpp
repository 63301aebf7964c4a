// expect: ^select: got index 5 for axis 0 of shape \(5, 2\), expected an index from -5 to 4
#include <tegula/tegula.h>

void select_index() {
  using namespace tegula;
  const Tensor x = zeros({5, 2});
  Tensor y = select(x, 0, 5);  // here
}
