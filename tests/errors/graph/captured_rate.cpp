// expect: first the number in scalar 0\.1 at .*captured_rate\.cpp:\d+, then scalar 0\.2 at .*captured_rate
// expect: hint: make what changes an argument, a Variable or a Flag
#include <tegula/tegula.h>

void captured_rate() {
  using namespace tegula;
  float lr = 0.1f;
  auto f = jit([&](Tensor x) {  // here
    return x * lr;
  });
  f(ones({4}));
  lr = 0.2f;
  f(ones({4}));
}
