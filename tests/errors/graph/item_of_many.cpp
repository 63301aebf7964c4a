// expect: ^item: got shape \(2,\), expected a tensor with one element
// expect: hint: use to_host\(\) for all elements
#include <tegula/tegula.h>

void item_of_many() {
  using namespace tegula;
  const Tensor x = zeros({2});
  x.item();  // here
}
