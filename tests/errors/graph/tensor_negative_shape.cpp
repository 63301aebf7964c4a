// expect: ^tensor: got shape \(-2, -3\), expected sizes of at least 0
#include <tegula/tegula.h>

void tensor_negative_shape() {
  const std::vector<float> values(6, 1.f);
  const tegula::Tensor x = tegula::tensor(values, {-2, -3});  // here
}
