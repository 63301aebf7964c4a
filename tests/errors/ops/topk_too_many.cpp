// expect: ^topk: got k = 5 along axis -1 of shape \(2, 4\), expected at most the axis.s size, 4
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/sort.h"

void topk_too_many() {
  const tegula::Tensor x = tegula::zeros({2, 4});
  tegula::topk(x, 5);  // here
}
