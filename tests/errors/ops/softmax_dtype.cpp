// expect: ^softmax: got dtype i64, expected a float type
// expect: hint: cast\(x, f32\)
#include <tegula/tegula.h>

void softmax_dtype() {
  using namespace tegula;
  Tensor y = softmax(zeros({2, 3}, i64), 1);  // here
}
