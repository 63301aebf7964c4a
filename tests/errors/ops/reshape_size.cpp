// expect: ^reshape: got shape \(2, 3\) \(6 elements\) to reshape to \(4, -1\)
// expect: hint: one size may be given as -1
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"

void reshape_size() {
  const tegula::Tensor x = tegula::zeros({2, 3});
  tegula::reshape(x, {4, -1});  // here
}
