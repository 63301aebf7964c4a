// expect: ^add: got dtype e4m3, expected a dtype that it computes in
// expect: hint: cast\(x, bf16\) or cast\(x, f32\)
#include "tegula/tegula.h"

void float8_arithmetic() {
  const tegula::Tensor x = tegula::cast(tegula::ones({2, 3}), tegula::e4m3);
  tegula::Tensor y = x + x;  // here
}
