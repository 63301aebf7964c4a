// expect: ^pad: got widths 3 and 0 for axis 1 of size 3, expected at most 2 in this mode
#include <tegula/tegula.h>

void pad_reflect() {
  using namespace tegula;
  const Tensor x = zeros({1, 3});
  Tensor y = pad(x, {{0, 0}, {3, 0}}, {.mode = PadMode::Reflect});  // here
}
