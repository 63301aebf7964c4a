// expect: ^linear_cross_entropy: got label -1, expected one in \[0, 10\)
#include <tegula/tegula.h>

void linear_cross_entropy_label() {
  using namespace tegula;
  Tensor loss = linear_cross_entropy(zeros({2, 3}), zeros({10, 3}), tensor<std::int64_t>({1, -1}));  // here
  loss.item();
}
