// expect: ^tensor: got 3 elements, expected 4 for shape \(2, 2\)
#include <tegula/tegula.h>

void tensor_count() {
  using namespace tegula;
  Tensor x = tensor({1.f, 2.f, 3.f}, {2, 2});  // here
}
