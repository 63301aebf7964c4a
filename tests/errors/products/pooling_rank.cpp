// expect: ^avg_pool2d: got f32 of shape \(3, 8\), expected a float tensor \(channels, spatial\) with 3 axes, or a batch of them with 4
#include <tegula/tegula.h>

void pooling_rank() {
  using namespace tegula;
  Tensor y = avg_pool2d(ones({3, 8}), 2);  // here
}
