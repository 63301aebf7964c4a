// expect: ^Linear: got an input of dtype f64, expected f32, the dtype of its weight
// expect: hint: cast\(x, f32\)
#include <tegula/tegula.h>

void wide_input() {
  const tegula::nn::Linear net(2, 2);
  const tegula::Tensor y = net(tegula::ones({3, 2}, tegula::f64));  // here
}
