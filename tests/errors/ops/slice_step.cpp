// expect: ^slice: got a step of 0, expected a step that moves
#include <tegula/tegula.h>

void slice_step() {
  using namespace tegula;
  const Tensor x = zeros({5});
  Tensor y = slice(x, 0, {.step = 0});  // here
}
