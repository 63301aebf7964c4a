// expect: ^matmul: got dtype e5m2, expected a dtype that it computes in
// expect: hint: cast\(x, bf16\) or cast\(x, f32\)
#include "tegula/tegula.h"

void float8_product() {
  const tegula::Tensor x = tegula::cast(tegula::ones({3, 3}), tegula::e5m2);
  tegula::Tensor y = tegula::matmul(x, x);  // here
}
