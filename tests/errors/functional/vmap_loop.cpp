// expect: ^vmap: got grouped_sum at .*vmap_loop\.cpp:\d+.*, expected an op with a rule for many examples
// expect: hint: leave \.loops on
#include <tegula/tegula.h>

void vmap_loop() {
  using namespace tegula;
  const Tensor index = tensor({0, 1, 0});
  vmap([&](Tensor x) { return segment_sum(x, segments(index, 2)); }, {ones({4, 3})}, {.loops = false});  // here
}
