// expect: ^bernoulli: got a probability of NaN, expected one in \[0, 1\]
#include <cmath>

#include "tegula/ops/creation.h"
#include "tegula/ops/random.h"

void bernoulli_probability() {
  const tegula::Tensor x = tegula::bernoulli(tegula::tensor({0.5f, std::nanf("")}));  // here
  x.to_host();
}
