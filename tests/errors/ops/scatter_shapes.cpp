// expect: ^scatter_add: got a source of shape \(2, 2\), expected a number, or the index's shape \(2, 3\)
#include <tegula/tegula.h>

void scatter_shapes() {
  using namespace tegula;
  const Tensor x = zeros({4, 3}), rows = zeros({2, 3}, i64);
  Tensor y = scatter_add(x, 0, rows, ones({2, 2}));  // here
}
