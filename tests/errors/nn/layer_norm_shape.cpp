// expect: ^layer_norm: got shape \(2, 3\), expected one that ends in \(4,?\)
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/normalization.h"

void layer_norm_shape() {
  tegula::layer_norm(tegula::ones({2, 3}), {4});  // here
}
