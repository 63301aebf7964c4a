// expect: ^grad: got Variable #0, which was assigned at .+ after the output was computed from the value it had before .*, expected one that
// expect: hint: take the gradient before the assignment
#include <tegula/tegula.h>

void grad_of_assigned() {
  using namespace tegula;
  Variable w = ones({2});
  auto step = jit([&](Tensor x) {
    const Tensor y = sum(w * x);
    w = w + x;
    return grad(y, w);  // here
  });
  step(ones({2}));
}
