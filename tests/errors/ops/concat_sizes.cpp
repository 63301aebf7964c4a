// expect: ^concat: got shapes \(2, 3\) and \(2, 4\), expected sizes that agree on all axes but 0
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/join.h"

void concat_sizes() {
  const tegula::Tensor x = tegula::zeros({2, 3}), y = tegula::zeros({2, 4});
  tegula::concat({x, y});  // here
}
