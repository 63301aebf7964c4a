// expect: ^matmul: got shapes \(3, 4\) and \(5, 6\), expected the inner sizes \(4 and 5\) to be equal
#include "tegula/ops/creation.h"
#include "tegula/ops/products/matmul.h"

void matmul_inner_sizes() {
  tegula::matmul(tegula::ones({3, 4}), tegula::ones({5, 6}));  // here
}
