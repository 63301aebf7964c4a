// expect: ^split: got sizes \(2, 2\) for axis 0 of shape \(5, 2\), expected sizes that add up to 5
#include <tegula/tegula.h>

void split_sizes() {
  using namespace tegula;
  const Tensor x = zeros({5, 2});
  auto parts = split(x, {2, 2});  // here
}
