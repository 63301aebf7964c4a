// expect: ^subtract: got operands of dtype bool, expected numbers
// expect: hint: convert with cast\(x, i64\), or use logical_and, logical_or, logical_xor
#include "tegula/ops/elementwise/arithmetic.h"

void boolean_difference() {
  const tegula::Tensor a = tegula::tensor({true, false});
  tegula::Tensor c = a - a;  // here
}
