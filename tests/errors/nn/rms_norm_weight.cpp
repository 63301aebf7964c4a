// expect: ^rms_norm: got a weight of shape \(2,\), expected shape \(3,\)
#include <tegula/tegula.h>

void rms_norm_weight() {
  using namespace tegula;
  Tensor y = rms_norm(ones({2, 3}), {3}, {.weight = ones({2})});  // here
}
