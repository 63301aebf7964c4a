// expect: ^BatchNorm2d: got an input of shape \(2, 3\), expected 4 axes
#include <tegula/tegula.h>

void batch_norm_rank() {
  using namespace tegula;
  nn::BatchNorm2d norm{3};
  Tensor y = norm(ones({2, 3}));  // here
}
