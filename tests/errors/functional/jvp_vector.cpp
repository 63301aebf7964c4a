// expect: ^jvp: got a vector f32\(2,\) for an x f32\(3,\), expected two of one shape, of float dtypes
#include <tegula/tegula.h>

void jvp_vector() {
  using namespace tegula;
  const Tensor x = ones({3});
  jvp(x * x, x, ones({2}));  // here
}
