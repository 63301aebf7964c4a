// expect: ^jit: got a function that did not build the same graph twice: slice at .*captured_stride\.cpp:\d+ with step: \(1, 1\), then \(2, 1\)
// expect: hint: make what changes an argument, a Variable or a Flag
#include <tegula/tegula.h>

void captured_stride() {
  using namespace tegula;
  std::int64_t step = 1;
  auto f = jit([&](Tensor x) {  // here
    return slice(x, 0, {.end = 2 * step, .step = step}) * 2;
  });
  f(ones({4, 3}));
  step = 2;
  f(ones({4, 3}));
}
