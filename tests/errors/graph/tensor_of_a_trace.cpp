// expect: ^evaluate: got a tensor of the jit-ed function at .*tensor_of_a_trace\.cpp:\d+, outside of it
// expect: hint: return the tensor from the function; those it leaves elsewhere have no value
#include <tegula/tegula.h>

void tensor_of_a_trace() {
  using namespace tegula;
  Tensor kept;
  auto f = jit([&](Tensor x) {
    kept = x * 2;
    return x + 1;
  });
  f(ones({2}));
  Tensor y = kept + 1;
  y.to_host();  // here
}
