// expect: Variable: got .*trace|inside .*jit
#include <tegula/tegula.h>
using namespace tegula;

void variable_in_jit() {
  auto f = jit([](Tensor x) {
    Variable w = ones({3});  // here
    return x * w;
  });
  f(ones({3}));
}
