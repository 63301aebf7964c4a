// expect: ^item: got a value that is still being traced by the jit at .*item_in_jit\.cpp:\d+, expected only ops inside a jit-ed function
// expect: hint: return the tensor from the function and look at it there; debug_print\(x\) prints .+TEGULA_EAGER=1 or set_eager\(true\)
#include <tegula/tegula.h>

void item_in_jit() {
  using namespace tegula;
  auto f = jit([](Tensor x) {
    if (sum(x).item() > 0) return x;  // here
    return -x;
  });
  f(ones({2}));
}
