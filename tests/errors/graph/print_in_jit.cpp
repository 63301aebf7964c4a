// expect: print: got a value that is still being traced
#include <tegula/tegula.h>
using namespace tegula;

void print_in_jit() {
  auto f = jit([](Tensor x) {
    Tensor y = x * 2;
    y.print();  // here
    return y;
  });
  f(ones({3}));
}
