// expect: clamp: got no bound, expected \.low, \.high or both
// expect: hint: write clamp\(x, \{\.low = 0\}\)
#include <tegula/tegula.h>
using namespace tegula;

void clamp_without_bounds() {
  Tensor y = clamp(ones({3}), ClampBounds{});  // here
}
