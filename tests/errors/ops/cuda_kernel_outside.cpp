// expect: cuda_kernel f: got thread \(8, 0, 0\) of block \(0, 0, 0\) writes element 8 of y, f32\(8,\), which has 8, at text of f:2
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_outside() {
  eval(cuda_kernel("f", "__global__ void f(float* y) {\n  y[threadIdx.x] = 1;\n}", {cuda_out({8})}, {.block = {9}})[0]);  // here
}
