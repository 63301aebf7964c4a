// expect: ^binary_cross_entropy: got a probability of -0.2, expected one in \[0, 1\]
// expect: hint: binary_cross_entropy_with_logits takes scores of any size
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void not_a_probability() {
  const tegula::Tensor loss = tegula::binary_cross_entropy(tegula::tensor({0.5f, -0.2f}), tegula::ones({2}));  // here
  loss.item();
}
