// expect: cuda_kernel f: got a result for parameter 0, `const float\* y`, expected a pointer to what is not const
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_const_result() {
  cuda_kernel("f", "__global__ void f(const float* y) {}", {cuda_out({1})}, {});  // here
}
