// expect: cuda_kernel f: got thread \(0, 0, 0\) of block \(0, 0, 0\) waits in line 3 for threads that never come: thread \(.*\) of block \(0, 0, 0\) has ended, at text of f:3
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_barrier() {
  const char* const text = "__global__ void f(float* y) {\n  if (threadIdx.x < 16)\n    __syncthreads();\n  y[threadIdx.x] = 1;\n}";
  eval(cuda_kernel("f", text, {cuda_out({32})}, {.block = {32}})[0]);  // here
}
