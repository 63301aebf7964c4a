// expect: ^jit: got a tensor made inside of the function at .*literal_that_changes\.cpp:\d+ that holds other data than at the first call: element 1 was 2 and is 3
// expect: hint: make the tensor an argument of the function, or a Variable
#include <tegula/tegula.h>

void literal_that_changes() {
  using namespace tegula;
  float value = 2;
  auto f = jit([&](Tensor x) {  // here
    return x + tensor({1.f, value});
  });
  f(ones({2}));
  value = 3;
  f(ones({2}));
}
