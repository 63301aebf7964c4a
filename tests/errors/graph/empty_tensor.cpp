// expect: ^relu: got an empty tensor
// expect: hint: it was default-constructed or moved from
#include "tegula/ops/elementwise/activation.h"

#include <utility>

void empty_tensor() {
  tegula::Tensor a = tegula::tensor({1.f, 2.f});
  const tegula::Tensor b = std::move(a);
  tegula::Tensor c = tegula::relu(a);  // here  NOLINT
}
