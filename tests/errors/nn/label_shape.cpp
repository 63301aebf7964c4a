// expect: ^cross_entropy: got scores f32\(4, 10\) and labels i64\(3,\), expected labels of shape \(4,\)
// expect: hint: axis 1 of the scores counts the classes
#include <tegula/tegula.h>

void label_shape() {
  using namespace tegula;
  Tensor loss = cross_entropy(zeros({4, 10}), zeros({3}, i64));  // here
}
