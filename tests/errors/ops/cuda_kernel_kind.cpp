// expect: cuda_kernel f: got a tensor for parameter 1, `int n`, expected a number
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_kind() {
  cuda_kernel("f", "__global__ void f(float* y, int n) { y[0] = n; }", {cuda_out({1}), ones({1})}, {});  // here
}
