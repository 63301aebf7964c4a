// expect: flip: got
#include <tegula/tegula.h>
using namespace tegula;

void flip_axis() {
  Tensor y = flip(ones({2, 3}), 2);  // here
}
