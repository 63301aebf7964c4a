// expect: ^print: got a value that is still being traced
// expect: hint: .*debug_print\(x\) prints a value at every call; with TEGULA_EAGER=1 or set_eager\(true\)
#include <tegula/tegula.h>
using namespace tegula;

void eager_hint() {
  auto f = jit([](Tensor x) {
    x.print();  // here
    return x;
  });
  f(ones({2}));
}
