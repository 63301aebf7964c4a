// expect: ^zeros: got shape \(2, -3\), expected sizes of at least 0
#include <tegula/tegula.h>

void negative_size() {
  using namespace tegula;
  Tensor x = zeros({2, -3});  // here
}
