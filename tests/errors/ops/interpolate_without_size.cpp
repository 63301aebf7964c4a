// expect: ^interpolate: got neither size nor scale_factor, expected one of them
#include <tegula/tegula.h>
using namespace tegula;

void interpolate_without_size() {
  Tensor y = interpolate(ones({1, 3, 4, 4}), {});  // here
}
