// expect: ^vmap: got a function that assigns a Variable \(made at .*vmap_variable\.cpp:\d+.*\), expected one that only reads them
// expect: hint: draw random numbers before
#include <tegula/tegula.h>

void vmap_variable() {
  using namespace tegula;
  vmap([](Tensor x) { return x + normal({3}); }, {ones({2, 3})});  // here
}
