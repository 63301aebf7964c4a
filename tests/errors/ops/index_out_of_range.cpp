// expect: ^index: got index 7 for axis 0 of size 5, where it must lie in \[-5, 4\]
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/index.h"

void index_out_of_range() {
  const tegula::Tensor x = tegula::zeros({5, 3}), rows = tegula::full({2}, 7);
  const tegula::Tensor y = tegula::index(x, rows);  // here
  y.to_host();
}
