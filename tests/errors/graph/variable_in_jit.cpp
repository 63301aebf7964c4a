// expect: ^Variable: got a Variable created inside the jit at .*variable_in_jit\.cpp:\d+
// expect: hint: create it outside and capture it by reference
#include <tegula/tegula.h>
using namespace tegula;

void variable_in_jit() {
  auto f = jit([](Tensor x) {
    Variable w = ones({3});  // here
    return x * w;
  });
  f(ones({3}));
}
