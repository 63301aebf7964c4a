// expect: cuda_kernel f: got thread \(.*\) of block \(0, 0, 0\) .* element .* of s \(shared\), which .*, at text of f:4
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_race() {
  const char* const text =
      "__global__ void f(float* y) {\n  __shared__ float s[64];\n  s[threadIdx.x] = 1;\n  y[threadIdx.x] = s[63 - threadIdx.x];\n}";
  eval(cuda_kernel("f", text, {cuda_out({64})}, {.block = {64}})[0]);  // here
}
