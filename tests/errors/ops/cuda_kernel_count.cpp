// expect: cuda_kernel f: got 1 arguments, expected 2: float\* y, int n
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_count() {
  cuda_kernel("f", "__global__ void f(float* y, int n) { y[0] = n; }", {cuda_out({1})}, {});  // here
}
