// expect: ^gather: got an index of shape \(2,\) for shape \(4, 3\), expected the same rank, and apart from axis 0 sizes that are not greater
#include <tegula/tegula.h>

void gather_shapes() {
  using namespace tegula;
  const Tensor x = zeros({4, 3}), rows = zeros({2}, i64);
  Tensor y = gather(x, 0, rows);  // here
}
