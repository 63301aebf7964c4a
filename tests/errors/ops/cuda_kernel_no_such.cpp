// expect: cuda_kernel g: got a text with the kernels f, expected a kernel of the name g
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_no_such() {
  cuda_kernel("g", "__global__ void f(float* y) { y[0] = 1; }", {cuda_out({1})}, {});  // here
}
