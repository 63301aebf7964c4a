// expect: ^take: got an index of dtype bool, expected an integer dtype
// expect: hint: .*masked_fill
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/index.h"

void index_dtype() {
  const tegula::Tensor x = tegula::zeros({5}), mask = tegula::full({5}, true);
  tegula::take(x, mask, 0);  // here
}
