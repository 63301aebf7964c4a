// expect: ^zeros: got shape \(1000000000, 1000000000, 1000000000\), expected fewer than 2\^60 elements
// expect: hint: it was probably computed from wrong numbers
#include <tegula/tegula.h>

void absurd_size() {
  using namespace tegula;
  Tensor x = zeros({1'000'000'000, 1'000'000'000, 1'000'000'000});  // here
  x.to_host();
}
