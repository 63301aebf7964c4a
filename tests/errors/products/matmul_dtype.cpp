// expect: ^matmul: got dtypes bool and bool, expected numbers
// expect: hint: cast the booleans first
#include <tegula/tegula.h>

void matmul_dtype() {
  using namespace tegula;
  Tensor c = matmul(ones({2, 3}, boolean), ones({3, 2}, boolean));  // here
}
