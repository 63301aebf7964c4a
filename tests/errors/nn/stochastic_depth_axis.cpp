// expect: stochastic_depth: got axis 2 of shape \(3, 4\), expected one of its axes
#include <tegula/tegula.h>

void stochastic_depth_axis() {
  using namespace tegula;
  stochastic_depth(zeros({3, 4}), 0.5, 2);  // here
}
