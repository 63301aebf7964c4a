// expect: ^scatter_add: got index -5 for axis 0 of size 4, where it must lie in \[-4, 3\]
// expect: hint: check the data that was passed in
#include <tegula/tegula.h>

void scatter_index() {
  using namespace tegula;
  const Tensor x = zeros({4}), at = tensor({-5});
  const Tensor y = scatter_add(x, 0, at, ones({1}));  // here
  y.to_host();
}
