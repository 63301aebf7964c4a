// expect: ^cross_entropy: got scores f32\(2, 10\) and labels f32\(2,?\), expected labels of an integer dtype
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void label_dtype() {
  tegula::cross_entropy(tegula::zeros({2, 10}), tegula::zeros({2}));  // here
}
