// expect: ^jit: got a function that did not build the same graph twice: first shape \(2, 2\) of reshape at .*captured_number\.cpp:\d+, then shape \(4, 1\) of reshape at
// expect: hint: make what changes an argument, a Variable or a Flag
#include <tegula/tegula.h>

void captured_number() {
  using namespace tegula;
  float lr = 0.1f;
  auto f = jit([&](Tensor x) {  // here
    return sum(reshape(x, {static_cast<std::int64_t>(20 * lr), -1}), 0);
  });
  f(ones({4}));
  lr = 0.2f;
  f(ones({4}));
}
