// expect: ^expand: got shape \(2, 3\) to expand to \(2, 4\), expected axes that agree or have size 1, counted from the last
#include <tegula/tegula.h>

void expand_shape() {
  using namespace tegula;
  const Tensor x = zeros({2, 3});
  Tensor y = expand(x, {2, 4});  // here
}
