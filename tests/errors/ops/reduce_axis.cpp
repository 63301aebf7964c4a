// expect: ^sum: got axis 2 for shape \(2, 3\), expected an axis from -2 to 1
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/reduce.h"

void reduce_axis() {
  const tegula::Tensor x = tegula::zeros({2, 3});
  tegula::sum(x, 2);  // here
}
