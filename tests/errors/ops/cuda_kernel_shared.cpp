// expect: cuda_kernel f: got 65536 bytes of variables in shared memory, expected at most 49152
// expect: hint: declare it extern __shared__, and ask for it by .shared of the launch
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_shared() {
  const char* const text = "__global__ void f(float* y) { __shared__ float s[128][128]; s[0][0] = 1; y[0] = s[0][0]; }";
  eval(cuda_kernel("f", text, {cuda_out({1})}, {})[0]);  // here
}
