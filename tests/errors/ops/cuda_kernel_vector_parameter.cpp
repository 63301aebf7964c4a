// expect: cuda_kernel f: got the parameter 1, `float4 by`, in line 1 of text of f, expected a pointer, or a number of C\+\+: .*
// expect: hint: pass its parts one by one
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_vector_parameter() {
  cuda_kernel("f", "__global__ void f(float* y, float4 by) { y[0] = by.x; }", {cuda_out({1}), 3}, {});  // here
}
