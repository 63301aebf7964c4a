// expect: to_(host|array): got a value that is still being traced
#include <tegula/tegula.h>
using namespace tegula;

void to_host_in_jit() {
  auto f = jit([](Tensor x) {
    std::vector<float> v = x.to_host();  // here
    return x * v[0];
  });
  f(ones({3}));
}
