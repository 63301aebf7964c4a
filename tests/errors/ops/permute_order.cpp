// expect: ^permute: got order \(0, 2, 2\) for shape \(2, 3, 4\), expected each axis once
#include <tegula/tegula.h>

void permute_order() {
  using namespace tegula;
  const Tensor x = zeros({2, 3, 4});
  Tensor y = permute(x, {0, 2, 2});  // here
}
