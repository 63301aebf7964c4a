// expect: ^cumsum: got axis -3 for shape \(2, 3\), expected an axis from -2 to 1
#include <tegula/tegula.h>

void cumsum_axis() {
  using namespace tegula;
  const Tensor x = zeros({2, 3});
  Tensor y = cumsum(x, -3);  // here
}
