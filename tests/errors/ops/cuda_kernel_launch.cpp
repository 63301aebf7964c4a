// expect: cuda_kernel f: got the grid \(1,\), blocks of \(32, 33\) and 0 bytes of shared memory, expected up to .* 1,024 threads of a block and 227 KiB
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_launch() {
  cuda_kernel("f", "__global__ void f(float* y) { y[0] = 1; }", {cuda_out({1})}, {.block = {32, 33}});  // here
}
