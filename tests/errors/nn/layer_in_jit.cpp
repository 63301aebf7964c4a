// expect: ^Variable: got a Variable created inside the jit at .*layer_in_jit.cpp:7
// expect: hint: create it outside
#include <tegula/tegula.h>

void layer_in_jit() {
  using namespace tegula;
  auto f = jit([](Tensor x) {
    nn::Linear fc{2, 3};  // here
    return fc(x);
  });
  f(ones({1, 2}));
}
