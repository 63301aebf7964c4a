// expect: ^vjp: got a vector of shape \(2,\), expected the output's shape \(3,\)
#include <tegula/tegula.h>

void vjp_shape() {
  using namespace tegula;
  const Tensor x = ones({3}), y = x * 2;
  auto dx = vjp({y}, {ones({2})}, {x});  // here
}
