// expect: ^matmul: got shapes \(2, 3, 4\) and \(5, 4, 6\), expected leading axes that broadcast
// expect: hint: they must agree or have size 1, counted from the third last
#include <tegula/tegula.h>

void matmul_batch() {
  using namespace tegula;
  Tensor c = matmul(ones({2, 3, 4}), ones({5, 4, 6}));  // here
}
