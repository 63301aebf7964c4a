// expect: ^max: got shape \(0, 3\) over axes \(0,\), expected at least one element
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/reduce.h"

void max_of_nothing() {
  const tegula::Tensor none = tegula::zeros({0, 3});
  tegula::max(none, 0);  // here
}
