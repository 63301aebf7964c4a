// expect: ^sort: got axis 2 for shape \(2, 3\), expected an axis from -2 to 1
#include <tegula/tegula.h>

void sort_axis() {
  using namespace tegula;
  const Tensor x = zeros({2, 3});
  auto sorted = sort(x, 2);  // here
}
