// expect: cuda_kernel f: got the number 3000000000 for parameter 1, `int n`, expected one that its type holds
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_number() {
  cuda_kernel("f", "__global__ void f(float* y, int n) { y[0] = n; }", {cuda_out({1}), 3'000'000'000}, {});  // here
}
