// expect: item: got a value that is still being traced
#include <tegula/tegula.h>
using namespace tegula;

void branch_in_jit() {
  auto f = jit([](Tensor x) {
    if (sum(x).item() > 0) return x;  // here
    return -x;
  });
  f(ones({3}));
}
