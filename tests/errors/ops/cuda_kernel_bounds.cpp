// expect: cuda_kernel f: got blocks of 256 threads, expected at most 128, as its __launch_bounds__\(128\) says
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_bounds() {
  eval(cuda_kernel("f", "__global__ void __launch_bounds__(128) f(float* y) { y[0] = 1; }", {cuda_out({1})}, {.block = {256}})[0]);  // here
}
