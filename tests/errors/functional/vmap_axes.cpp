// expect: ^vmap: got argument 1 with 2 examples beside 4, expected as many in all of them
// expect: hint: \.in_axes = \{0, kShared\} gives the second argument whole
#include <tegula/tegula.h>

void vmap_axes() {
  using namespace tegula;
  vmap([](Tensor x, Tensor w) { return x * w; }, {ones({4, 3}), ones({2, 3})});  // here
}
