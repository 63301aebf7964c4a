// expect: ^grad: got Variable #0, which was already assigned in this jit-ed function, expected one that still has the value it came with
// expect: hint: take the gradient before the assignment
#include <tegula/tegula.h>

void grad_of_assigned() {
  using namespace tegula;
  Variable w = ones({2});
  auto step = jit([&](Tensor x) {
    w = w + x;
    return grad(sum(w * x), w);  // here
  });
  step(ones({2}));
}
