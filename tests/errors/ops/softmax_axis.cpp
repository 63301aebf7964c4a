// expect: ^softmax: got axis 2 for shape \(2, 3\), expected an axis from -2 to 1
#include <tegula/tegula.h>

void softmax_axis() {
  using namespace tegula;
  Tensor y = softmax(zeros({2, 3}), 2);  // here
}
