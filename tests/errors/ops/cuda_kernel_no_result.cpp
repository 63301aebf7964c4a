// expect: cuda_kernel f: got no result, expected cuda_out\(shape, dtype\) or cuda_update\(variable\) among the arguments
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_no_result() {
  cuda_kernel("f", "__global__ void f(const float* x) {}", {ones({1})}, {});  // here
}
