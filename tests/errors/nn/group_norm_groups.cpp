// expect: ^group_norm: got 4 groups for shape \(2, 6, 4\), expected a number that divides the 6 channels
#include <tegula/tegula.h>

void group_norm_groups() {
  using namespace tegula;
  Tensor y = group_norm(ones({2, 6, 4}), 4);  // here
}
