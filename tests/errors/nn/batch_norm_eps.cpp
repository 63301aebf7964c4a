// expect: ^batch_norm: got eps = -1e-05, expected a number of at least 0
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/normalization.h"

void batch_norm_eps() {
  tegula::batch_norm_training(tegula::ones({4, 3}), {.eps = -1e-5});  // here
}
