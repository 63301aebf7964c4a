// expect: ^binary_cross_entropy: got a probability of 1.5, expected one in \[0, 1\]
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void not_a_probability_gradient() {
  const tegula::Tensor p = tegula::tensor({0.5f, 1.5f});
  const tegula::Tensor loss = tegula::binary_cross_entropy(p, tegula::ones({2}));  // here
  tegula::grad(loss, p).to_host();
}
