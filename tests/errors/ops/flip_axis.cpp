// expect: ^flip: got axis 2 for shape \(2, 3\), expected an axis from -2 to 1
#include <tegula/tegula.h>
using namespace tegula;

void flip_axis() {
  Tensor y = flip(ones({2, 3}), 2);  // here
}
