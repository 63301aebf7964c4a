// expect: ^to_host: got a value that is still being traced by the jit at .*to_host_in_jit\.cpp:\d+
// expect: hint: return the tensor from the function
#include <tegula/tegula.h>
using namespace tegula;

void to_host_in_jit() {
  auto f = jit([](Tensor x) {
    std::vector<float> v = x.to_host();  // here
    return x * v[0];
  });
  f(ones({3}));
}
