// expect: ^bernoulli: got p = 1.5, expected a probability in \[0, 1\]
#include "tegula/ops/random.h"

void bernoulli_number() {
  tegula::bernoulli(1.5, {3});  // here
}
