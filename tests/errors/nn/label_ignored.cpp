// expect: ^cross_entropy: got label -100, expected one in \[0, 10\); to leave such samples out, set \.ignore_index = -100
// expect: hint: check the data that was passed in
#include <tegula/tegula.h>

void label_ignored() {
  using namespace tegula;
  const Tensor labels = tensor({1, -100});
  const Tensor loss = cross_entropy(zeros({2, 10}), labels);  // here
  loss.item();
}
